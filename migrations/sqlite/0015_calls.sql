-- What automations asked through the API and what they were answered: a log that is bounded, without secrets.
CREATE TABLE call (
    id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    token         BLOB    NOT NULL CHECK (length(token) = 16),
    at            INTEGER NOT NULL,
    microseconds  INTEGER NOT NULL CHECK (microseconds >= 0),
    method        TEXT    NOT NULL,
    endpoint      TEXT    NOT NULL,
    path          TEXT    NOT NULL,
    status        INTEGER NOT NULL CHECK (status BETWEEN 100 AND 999),
    problem       TEXT,
    detail        TEXT,
    workflow      TEXT,
    company       TEXT,
    source_system TEXT,
    document      TEXT,
    action        TEXT,
    revision      INTEGER,
    operation     BLOB    CHECK (operation IS NULL OR length(operation) = 16),
    decision      TEXT,
    request_id    TEXT    NOT NULL,
    request       TEXT,
    request_bytes INTEGER NOT NULL CHECK (request_bytes >= 0)
) STRICT, WITHOUT ROWID;
-- Ids are ordered by their moment: the list of everything walks the primary key, that of a token this.
CREATE INDEX call_by_token ON call (token, id);
