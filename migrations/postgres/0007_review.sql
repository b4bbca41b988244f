-- People settle what is uncertain: who is on it, until when it is kept waiting, what one person proposed; files as evidence; the queue
-- by money at risk and age.

-- When the destination said of the latest attempt that there is such a record already: that it is not found proves nothing then.
ALTER TABLE recovery ADD COLUMN exists_at BIGINT;

-- One row for each uncertain operation that somebody did something about; gone when its state changes. A claim shows who is on it and
-- guards nothing: what is right rests on the operation's version alone.
CREATE TABLE review (
    operation     UUID    NOT NULL PRIMARY KEY,
    claimed_by    TEXT,
    claimed_at    BIGINT,
    claimed_until BIGINT,
    waits_by      TEXT,
    waits_since   BIGINT,
    waits_until   BIGINT,
    waits_reason  TEXT,
    -- The decision that a second person has to confirm, as JSON.
    proposal      TEXT,
    CHECK ((claimed_by IS NULL) = (claimed_at IS NULL) AND (claimed_by IS NULL) = (claimed_until IS NULL)),
    CHECK ((waits_by IS NULL) = (waits_since IS NULL) AND (waits_by IS NULL) = (waits_until IS NULL)
           AND (waits_by IS NULL) = (waits_reason IS NULL))
);

-- A file that is evidence: its facts beside the note, its bytes apart, since lists read the facts alone.
ALTER TABLE evidence ADD COLUMN file_name TEXT;
ALTER TABLE evidence ADD COLUMN file_type TEXT;
ALTER TABLE evidence ADD COLUMN file_bytes BIGINT CHECK (file_bytes IS NULL OR file_bytes >= 0);
ALTER TABLE evidence ADD COLUMN file_sha256 BYTEA CHECK (file_sha256 IS NULL OR length(file_sha256) = 32);
CREATE TABLE evidence_file (
    evidence UUID  NOT NULL PRIMARY KEY,
    content  BYTEA NOT NULL
);
-- Files are mostly packed already: to pack them again would cost time and save nothing.
ALTER TABLE evidence_file ALTER COLUMN content SET STORAGE EXTERNAL;

-- What is at stake, in steps of 10 to 25 per cent: rounded down to 10, 12, 14, 16, 18, 20, 25, … 45, 50, 60, … 90 and the noughts that
-- follow. Within one step, money times age is ordered by age alone, whatever time it is, so that an index can hold the queue's order.
-- A function, since a column would have to be written into every row that there is.
CREATE FUNCTION at_risk(ten_thousandths BIGINT) RETURNS BIGINT LANGUAGE SQL IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN ten_thousandths IS NULL THEN 0
        WHEN ten_thousandths < 10 THEN ten_thousandths
        ELSE (substr(ten_thousandths::text, 1, 2)::bigint
              - substr(ten_thousandths::text, 1, 2)::bigint
                % CASE WHEN substr(ten_thousandths::text, 1, 2)::bigint < 20 THEN 2
                       WHEN substr(ten_thousandths::text, 1, 2)::bigint < 50 THEN 5
                       ELSE 10 END)
             * substr('1000000000000000000', 1, length(ten_thousandths::text) - 1)::bigint
    END
$$;
CREATE INDEX operation_at_risk ON operation (at_risk(ten_thousandths), state_since, id)
    WHERE state IN ('unknown', 'disputed');
CREATE INDEX operation_at_risk_by_company ON operation (company, at_risk(ten_thousandths), state_since, id)
    WHERE state IN ('unknown', 'disputed');
CREATE INDEX operation_at_risk_by_workflow ON operation (workflow, at_risk(ten_thousandths), state_since, id)
    WHERE state IN ('unknown', 'disputed');
