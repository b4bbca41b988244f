-- Duplicates that were prevented: each operation once, however often it was asked for again. A row waits (`certain_at` is null) while the
-- attempt that held the repetition back is under way or uncertain. It is counted in `count` in the transaction that sets `certain_at`,
-- and goes when that attempt is proven not applied: the repetition was the one that could be sent then.
CREATE TABLE prevented (
    operation       UUID   NOT NULL PRIMARY KEY,
    workflow        TEXT   NOT NULL,
    company         TEXT   NOT NULL,
    kind            TEXT   NOT NULL CHECK (kind IN ('replay', 'proxy_replay', 'superseded', 'in_progress', 'unknown')),
    attempt         BIGINT NOT NULL CHECK (attempt >= 0),
    currency        TEXT   NOT NULL,
    ten_thousandths BIGINT NOT NULL,
    asked_at        BIGINT NOT NULL,
    certain_at      BIGINT
);
-- What waits: few.
CREATE INDEX prevented_waiting ON prevented (operation) WHERE certain_at IS NULL;
-- The latest first, read from the index alone as far as they are out of reach.
CREATE INDEX prevented_latest ON prevented (certain_at, company, workflow) WHERE certain_at IS NOT NULL;

-- What stores from before know: that an operation was asked for again, and of some also when and how.
INSERT INTO prevented (operation, workflow, company, kind, attempt, currency, ten_thousandths, asked_at, certain_at)
SELECT operation.id, workflow, company, coalesce(first.decision, 'replay'), attempt, coalesce(currency, ''),
       coalesce(ten_thousandths, 0), coalesce(first.at, updated_at),
       CASE WHEN state = 'confirmed' THEN greatest(coalesce(first.at, updated_at), state_since) END
FROM operation LEFT JOIN LATERAL (
    SELECT decision, at FROM delivery WHERE delivery.operation = operation.id
       AND decision IN ('replay', 'superseded', 'in_progress', 'unknown') ORDER BY delivery.id LIMIT 1) AS first ON true
WHERE duplicates_prevented > 0 AND state IN ('confirmed', 'acquired', 'sending', 'unknown', 'disputed');
INSERT INTO count (workflow, company, counted, hour, currency, slot, number, ten_thousandths)
SELECT workflow, company, 'prevented:' || kind, certain_at - certain_at % 3600000, currency, 0, count(*),
       least(sum(ten_thousandths), 4000000000000000000)::bigint
FROM prevented WHERE certain_at IS NOT NULL GROUP BY 1, 2, 3, 4, 5;
