-- Lists: every combination of filters is read from a few stretches of an index.

-- One index instead of two that limited by one column each: which combinations of these four there are is found by leaping from one to
-- the next, and each is a stretch in the order of ids. In the order of bytes, as SQLite has it, whatever the database's own is.
CREATE INDEX operation_by_facet ON operation
    (company COLLATE "C", workflow COLLATE "C", source_system COLLATE "C", action COLLATE "C", id);
DROP INDEX operation_by_company;
DROP INDEX operation_by_workflow;
-- The same for what is neither done nor under way. A begin and its confirmation never touch it.
CREATE INDEX operation_left ON operation
    (state, company COLLATE "C", workflow COLLATE "C", source_system COLLATE "C", action COLLATE "C", id)
    WHERE state IN ('awaiting_approval', 'rejected', 'released', 'failed', 'unknown', 'disputed');
CREATE INDEX operation_by_worker ON operation (worker, id) WHERE worker IS NOT NULL;
CREATE INDEX operation_by_reference ON operation (destination_reference, id) WHERE destination_reference IS NOT NULL;
-- With something before the id, so that no question for it can be answered from the order of all ids instead.
DROP INDEX operation_in_conflict;
CREATE INDEX operation_in_conflict ON operation ((open_conflicts > 0), id) WHERE open_conflicts > 0;
