-- Retention: bodies are dropped after their days, unless there is a hold on them.

-- Whether some body may be kept of the operation, and when its payload was dropped.
ALTER TABLE operation ADD COLUMN keeps_bodies INTEGER NOT NULL DEFAULT 1 CHECK (keeps_bodies IN (0, 1));
ALTER TABLE operation ADD COLUMN payload_dropped_at INTEGER CHECK (keeps_bodies = 1 OR payload_dropped_at IS NOT NULL);
-- What the sweep looks at, the longest unchanged first. An operation comes in when it is settled, and leaves when its bodies do.
CREATE INDEX operation_to_drop ON operation (workflow, updated_at, id)
    WHERE keeps_bodies = 1 AND open_conflicts = 0 AND state IN ('confirmed', 'failed', 'released', 'rejected');

-- Legal holds. `subject` is an operation's id, or sixteen bytes of a SHA-256 over company, source system and document; `operation` is the one
-- at whose page it was placed.
CREATE TABLE legal_hold (
    subject   BLOB    NOT NULL PRIMARY KEY CHECK (length(subject) = 16),
    scope     TEXT    NOT NULL CHECK (scope IN ('operation', 'document')),
    operation BLOB    NOT NULL CHECK (length(operation) = 16),
    placed_by TEXT    NOT NULL,
    placed_at INTEGER NOT NULL,
    reason    TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- What is built on an operation.
CREATE INDEX amendment_by_base ON amendment (base);
-- The logged requests of an operation, as long as something is kept of them.
CREATE INDEX call_of_operation ON call (operation) WHERE operation IS NOT NULL AND request IS NOT NULL;

-- One row: which process sweeps, and until when it has the right to.
CREATE TABLE body_sweep (
    number        INTEGER NOT NULL PRIMARY KEY CHECK (number = 1),
    claimed_by    TEXT,
    claimed_until INTEGER,
    CHECK ((claimed_by IS NULL) = (claimed_until IS NULL))
) STRICT;
INSERT INTO body_sweep (number) VALUES (1);
