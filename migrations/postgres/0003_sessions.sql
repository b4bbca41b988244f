-- Who is signed in at the desk.

-- `digest` is a hash of the session's id, `data` is enciphered with a key that comes from the id: the id is with its person
-- alone, so that neither the database nor a backup of it lets anybody in. `ends_at` is set when the session begins and never
-- moves; `seen_at` follows the person, at most once a minute.
CREATE TABLE session (
    digest  BYTEA  NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    data    BYTEA  NOT NULL,
    seen_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL
);
