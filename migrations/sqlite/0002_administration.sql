-- What is configured, who may do what.

-- One row: the epoch that every change of the configuration raises, and the head of the administration's chain.
CREATE TABLE administration (
    singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    epoch     INTEGER NOT NULL,
    sequence  INTEGER NOT NULL,
    head      BLOB    NOT NULL CHECK (length(head) = 32)
) STRICT;
INSERT INTO administration (singleton, epoch, sequence, head) VALUES (1, 1, 0, zeroblob(32));

-- Every version of every workflow; the newest is in force, the older ones say how older fingerprints were made.
CREATE TABLE workflow (
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL CHECK (version >= 1),
    definition TEXT    NOT NULL,
    is_retired INTEGER NOT NULL CHECK (is_retired IN (0, 1)),
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE destination (
    name       TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE person (
    id            BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    email         TEXT NOT NULL UNIQUE,
    role          TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'finance', 'admin')),
    reach         TEXT NOT NULL,
    password_hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    name       TEXT    NOT NULL UNIQUE,
    digest     BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    scopes     TEXT    NOT NULL,
    reach      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
