-- By what an operation looks like others: sixteen bytes of a SHA-256 over company, workflow, amount, currency and counterparty. Only
-- operations of workflows that name a counterparty have a row, so that a begin of any other costs nothing more.
CREATE TABLE look_alike (
    operation UUID  NOT NULL PRIMARY KEY,
    look      BYTEA NOT NULL CHECK (length(look) = 16)
);
CREATE INDEX look_alike_by_look ON look_alike (look, operation);
