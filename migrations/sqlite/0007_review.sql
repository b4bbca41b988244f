-- People settle what is uncertain: who is on it, until when it is kept waiting, what one person proposed; files as evidence; the queue
-- by money at risk and age.

-- When the destination said of the latest attempt that there is such a record already: that it is not found proves nothing then.
ALTER TABLE recovery ADD COLUMN exists_at INTEGER;

-- One row for each uncertain operation that somebody did something about; gone when its state changes. A claim shows who is on it and
-- guards nothing: what is right rests on the operation's version alone.
CREATE TABLE review (
    operation     BLOB    NOT NULL PRIMARY KEY CHECK (length(operation) = 16),
    claimed_by    TEXT,
    claimed_at    INTEGER,
    claimed_until INTEGER,
    waits_by      TEXT,
    waits_since   INTEGER,
    waits_until   INTEGER,
    waits_reason  TEXT,
    -- The decision that a second person has to confirm, as JSON.
    proposal      TEXT,
    CHECK ((claimed_by IS NULL) = (claimed_at IS NULL) AND (claimed_by IS NULL) = (claimed_until IS NULL)),
    CHECK ((waits_by IS NULL) = (waits_since IS NULL) AND (waits_by IS NULL) = (waits_until IS NULL)
           AND (waits_by IS NULL) = (waits_reason IS NULL))
) STRICT, WITHOUT ROWID;

-- A file that is evidence: its facts beside the note, its bytes apart, since lists read the facts alone.
ALTER TABLE evidence ADD COLUMN file_name TEXT;
ALTER TABLE evidence ADD COLUMN file_type TEXT;
ALTER TABLE evidence ADD COLUMN file_bytes INTEGER CHECK (file_bytes IS NULL OR file_bytes >= 0);
ALTER TABLE evidence ADD COLUMN file_sha256 BLOB CHECK (file_sha256 IS NULL OR length(file_sha256) = 32);
CREATE TABLE evidence_file (
    evidence BLOB NOT NULL PRIMARY KEY CHECK (length(evidence) = 16),
    content  BLOB NOT NULL
) STRICT;

-- What is at stake, in steps of 10 to 25 per cent: rounded down to 10, 12, 14, 16, 18, 20, 25, … 45, 50, 60, … 90 and the noughts that
-- follow. Within one step, money times age is ordered by age alone, whatever time it is, so that an index can hold the queue's order.
ALTER TABLE operation ADD COLUMN at_risk INTEGER GENERATED ALWAYS AS (
    CASE
        WHEN ten_thousandths IS NULL THEN 0
        WHEN ten_thousandths < 10 THEN ten_thousandths
        ELSE (CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER)
              - CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER)
                % CASE WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '20' THEN 2
                       WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '50' THEN 5
                       ELSE 10 END)
             * CAST(substr('1000000000000000000', 1, length(CAST(ten_thousandths AS TEXT)) - 1) AS INTEGER)
    END
) VIRTUAL;
CREATE INDEX operation_at_risk ON operation (at_risk, state_since, id) WHERE state IN ('unknown', 'disputed');
CREATE INDEX operation_at_risk_by_company ON operation (company, at_risk, state_since, id)
    WHERE state IN ('unknown', 'disputed');
CREATE INDEX operation_at_risk_by_workflow ON operation (workflow, at_risk, state_since, id)
    WHERE state IN ('unknown', 'disputed');
