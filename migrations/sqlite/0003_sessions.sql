-- Who is signed in at the desk.

-- The key is the SHA-256 of the session's id, so that neither the file nor a backup of it lets anybody in. `ends_at` is set
-- when the session begins and never moves; `seen_at` follows the person, at most once a minute.
CREATE TABLE session (
    digest  BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    data    TEXT    NOT NULL,
    seen_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
