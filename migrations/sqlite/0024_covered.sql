-- What a list looks at in each row stands in the index that it walks: a row of a large table lies on a page of its own, and reading
-- thousands of pages for one page of the list took a tenth of a second. Nothing of this changes between a begin and its confirmation but
-- what did before.
DROP INDEX operation_by_facet;
CREATE INDEX operation_by_facet ON operation (company, workflow, source_system, action, id, ten_thousandths, worker);
DROP INDEX operation_by_worker;
CREATE INDEX operation_by_worker ON operation (worker, id, ten_thousandths) WHERE worker IS NOT NULL;
DROP INDEX operation_left;
CREATE INDEX operation_left ON operation (state, company, workflow, source_system, action, id, ten_thousandths, worker)
    WHERE state IN ('awaiting_approval', 'rejected', 'released', 'failed', 'unknown', 'disputed');
-- The same in the order of ids alone.
CREATE INDEX operation_left_by_id ON operation (state, id, company, workflow, source_system, action, ten_thousandths, worker)
    WHERE state IN ('awaiting_approval', 'rejected', 'released', 'failed', 'unknown', 'disputed');
DROP INDEX operation_in_conflict;
CREATE INDEX operation_in_conflict ON operation (id, state, company, workflow, source_system, action, ten_thousandths, worker)
    WHERE open_conflicts > 0;
