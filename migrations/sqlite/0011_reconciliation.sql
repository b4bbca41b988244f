-- Reconciliation: what the source has done beside what the destination holds.

-- A run. `identity` is the SHA-256 over its records and parameters: the same again is the same run. `take` counts how often a run
-- that broke off was taken up; whoever took it up last writes it.
CREATE TABLE reconciliation (
    id       BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    identity TEXT    NOT NULL,
    workflow TEXT    NOT NULL,
    company  TEXT    NOT NULL,
    take     INTEGER NOT NULL CHECK (take >= 1),
    progress TEXT    NOT NULL CHECK (progress IN ('running', 'done')),
    content  TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX reconciliation_by_identity ON reconciliation (identity);
-- The last one of each workflow and company.
CREATE INDEX reconciliation_by_scope ON reconciliation (company, workflow, id);

-- The rows of a run, by bucket in their order.
CREATE TABLE reconciliation_row (
    run     BLOB    NOT NULL CHECK (length(run) = 16),
    bucket  TEXT    NOT NULL,
    number  INTEGER NOT NULL CHECK (number >= 1),
    content TEXT    NOT NULL,
    PRIMARY KEY (run, bucket, number)
) STRICT, WITHOUT ROWID;

-- What the last reconciliation said of an operation.
CREATE TABLE reconciled (
    operation BLOB    NOT NULL PRIMARY KEY CHECK (length(operation) = 16),
    run       BLOB    NOT NULL CHECK (length(run) = 16),
    bucket    TEXT    NOT NULL,
    at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
