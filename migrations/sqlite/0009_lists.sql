-- Lists: every combination of filters is read from a few stretches of an index.

-- One index instead of two that limited by one column each: which combinations of these four there are is found by leaping from one to
-- the next, and each is a stretch in the order of ids.
CREATE INDEX operation_by_facet ON operation (company, workflow, source_system, action, id);
DROP INDEX operation_by_company;
DROP INDEX operation_by_workflow;
-- The same for what is neither done nor under way. A begin and its confirmation never touch it.
CREATE INDEX operation_left ON operation (state, company, workflow, source_system, action, id)
    WHERE state IN ('awaiting_approval', 'rejected', 'released', 'failed', 'unknown', 'disputed');
CREATE INDEX operation_by_worker ON operation (worker, id) WHERE worker IS NOT NULL;
CREATE INDEX operation_by_reference ON operation (destination_reference, id) WHERE destination_reference IS NOT NULL;
