-- Duplicates that were prevented: each operation once, however often it was asked for again. A row waits (`certain_at` is null) while the
-- attempt that held the repetition back is under way or uncertain. It is counted in `count` in the transaction that sets `certain_at`,
-- and goes when that attempt is proven not applied: the repetition was the one that could be sent then.
CREATE TABLE prevented (
    operation       BLOB    NOT NULL PRIMARY KEY CHECK (length(operation) = 16),
    workflow        TEXT    NOT NULL,
    company         TEXT    NOT NULL,
    kind            TEXT    NOT NULL CHECK (kind IN ('replay', 'proxy_replay', 'superseded', 'in_progress', 'unknown')),
    attempt         INTEGER NOT NULL CHECK (attempt >= 0),
    currency        TEXT    NOT NULL,
    ten_thousandths INTEGER NOT NULL,
    asked_at        INTEGER NOT NULL,
    certain_at      INTEGER
) STRICT, WITHOUT ROWID;
-- What waits: few.
CREATE INDEX prevented_waiting ON prevented (operation) WHERE certain_at IS NULL;
-- The latest first, read from the index alone as far as they are out of reach.
CREATE INDEX prevented_latest ON prevented (certain_at, company, workflow) WHERE certain_at IS NOT NULL;

-- What stores from before know: that an operation was asked for again, and of some also when and how.
INSERT INTO prevented (operation, workflow, company, kind, attempt, currency, ten_thousandths, asked_at, certain_at)
SELECT id, workflow, company, ifnull(kind, 'replay'), attempt, ifnull(currency, ''), ifnull(ten_thousandths, 0),
       ifnull(asked_at, updated_at), CASE WHEN state = 'confirmed' THEN max(ifnull(asked_at, updated_at), state_since) END
FROM (
    SELECT operation.*,
           (SELECT decision FROM delivery WHERE delivery.operation = operation.id
             AND decision IN ('replay', 'superseded', 'in_progress', 'unknown') ORDER BY number LIMIT 1) AS kind,
           (SELECT at FROM delivery WHERE delivery.operation = operation.id
             AND decision IN ('replay', 'superseded', 'in_progress', 'unknown') ORDER BY number LIMIT 1) AS asked_at
    FROM operation
    WHERE duplicates_prevented > 0 AND state IN ('confirmed', 'acquired', 'sending', 'unknown', 'disputed')
);
INSERT INTO count (workflow, company, counted, hour, currency, slot, number, ten_thousandths)
SELECT workflow, company, 'prevented:' || kind, certain_at - certain_at % 3600000, currency, 0, count(*),
       CAST(min(total(ten_thousandths), 4e18) AS INTEGER)
FROM prevented WHERE certain_at IS NOT NULL GROUP BY 1, 2, 3, 4, 5;
