-- What people said of records that nobody guarded: that one belongs to an operation, that it does not, or that an operation was
-- registered for it. `digest` is the SHA-256 of the record's id at the destination.
CREATE TABLE record_decision (
    operation BLOB    NOT NULL CHECK (length(operation) = 16),
    digest    BLOB    NOT NULL CHECK (length(digest) = 32),
    run       BLOB    NOT NULL CHECK (length(run) = 16),
    number    INTEGER NOT NULL CHECK (number >= 1),
    content   TEXT    NOT NULL,
    PRIMARY KEY (operation, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_decision_by_row ON record_decision (run, number);

-- What destinations hold more than once: one of these matters more than everything that was prevented.
CREATE INDEX reconciled_duplicated ON reconciled (operation) WHERE bucket = 'duplicated';
