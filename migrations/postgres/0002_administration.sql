-- What is configured, who may do what.

-- One row: the epoch that every change of the configuration raises, and the head of the administration's chain.
CREATE TABLE administration (
    singleton BIGINT NOT NULL PRIMARY KEY CHECK (singleton = 1),
    epoch     BIGINT NOT NULL,
    sequence  BIGINT NOT NULL,
    head      BYTEA  NOT NULL CHECK (length(head) = 32)
);
INSERT INTO administration (singleton, epoch, sequence, head) VALUES (1, 1, 0, decode(repeat('00', 32), 'hex'));

-- Every version of every workflow; the newest is in force, the older ones say how older fingerprints were made.
CREATE TABLE workflow (
    name       TEXT    NOT NULL,
    version    BIGINT NOT NULL CHECK (version >= 1),
    definition TEXT    NOT NULL,
    is_retired BOOLEAN NOT NULL,
    PRIMARY KEY (name, version)
);

CREATE TABLE destination (
    name       TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL
);

CREATE TABLE person (
    id            UUID NOT NULL PRIMARY KEY,
    email         TEXT NOT NULL UNIQUE,
    role          TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'finance', 'admin')),
    reach         TEXT NOT NULL,
    password_hash TEXT NOT NULL
);

CREATE TABLE token (
    id         UUID    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    digest     BYTEA    NOT NULL UNIQUE CHECK (length(digest) = 32),
    scopes     TEXT    NOT NULL,
    reach      TEXT    NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);
