-- What people keep of lists: the address of a page under a name.
CREATE TABLE saved_view (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    person     BLOB    NOT NULL CHECK (length(person) = 16),
    page       TEXT    NOT NULL CHECK (page IN ('operations', 'unknown')),
    name       TEXT    NOT NULL,
    query      TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX saved_view_by_name ON saved_view (person, page, name);

-- Runs that act on everything that a filter said at one moment. A claim is a process's right to work it, for a while.
CREATE TABLE run (
    id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    person        BLOB    NOT NULL CHECK (length(person) = 16),
    version       INTEGER NOT NULL CHECK (version >= 1),
    standing      TEXT    NOT NULL CHECK (standing IN ('proposed', 'running', 'ended')),
    content       TEXT    NOT NULL,
    claimed_by    TEXT,
    claimed_until INTEGER,
    CHECK ((claimed_by IS NULL) = (claimed_until IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX run_to_work ON run (id) WHERE standing = 'running';

CREATE TABLE run_item (
    run       BLOB    NOT NULL CHECK (length(run) = 16),
    number    INTEGER NOT NULL CHECK (number >= 1),
    operation BLOB    NOT NULL CHECK (length(operation) = 16),
    outcome   TEXT    CHECK (outcome IN ('applied', 'skipped', 'refused')),
    told      TEXT,
    PRIMARY KEY (run, number),
    CHECK ((outcome IS NULL) = (told IS NULL))
) STRICT, WITHOUT ROWID;
