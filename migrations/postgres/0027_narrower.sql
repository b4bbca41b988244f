-- Bursts are looked for among what is unknown, of few companies in each of them.
CREATE INDEX operation_unknown ON operation (id) WHERE state = 'unknown';
CREATE INDEX operation_unknown_by_company ON operation (company, id) WHERE state = 'unknown';

-- What a list looks at in a row stands in the index.
DROP INDEX operation_in_conflict;
CREATE INDEX operation_in_conflict ON operation ((open_conflicts > 0), id)
    INCLUDE (open_conflicts, state, company, workflow, source_system, action, ten_thousandths, worker) WHERE open_conflicts > 0;
DROP INDEX operation_by_worker;
CREATE INDEX operation_by_worker ON operation (worker, id) INCLUDE (ten_thousandths) WHERE worker IS NOT NULL;
