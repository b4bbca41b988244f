-- Decisions on conflicts, and the queue of those that are open. The company and the workflow of the operation never change, so that
-- they may stand here too: lists are read from this table alone.
ALTER TABLE conflict ADD COLUMN workflow TEXT NOT NULL DEFAULT '';
ALTER TABLE conflict ADD COLUMN company TEXT NOT NULL DEFAULT '';
UPDATE conflict SET workflow = (SELECT operation.workflow FROM operation WHERE operation.id = conflict.operation),
                    company = (SELECT operation.company FROM operation WHERE operation.id = conflict.operation);
-- Where it differs, without the numbers of items: JSON. Of conflicts from before, nothing.
ALTER TABLE conflict ADD COLUMN places TEXT NOT NULL
    DEFAULT '{"listed":[],"total":0,"group":"00000000000000000000000000000000"}';
-- One workflow, the same places.
ALTER TABLE conflict ADD COLUMN grouping_key BLOB NOT NULL DEFAULT x'00000000000000000000000000000000' CHECK (length(grouping_key) = 16);
-- What was decided, by whom, when and why: JSON. It is there exactly when the conflict is not open.
ALTER TABLE conflict ADD COLUMN decision TEXT CHECK ((decision IS NULL) = (is_open = 1));

CREATE INDEX conflict_decided ON conflict (id) WHERE is_open = 0;
CREATE INDEX conflict_open_by_group ON conflict (grouping_key, id) WHERE is_open = 1;
CREATE INDEX conflict_decided_by_group ON conflict (grouping_key, id) WHERE is_open = 0;
CREATE INDEX conflict_decided_by_company ON conflict (company, id) WHERE is_open = 0;
CREATE INDEX conflict_decided_by_workflow ON conflict (workflow, id) WHERE is_open = 0;

-- In which places each conflict differs: the first sixteen bytes of the SHA-256 of the place.
CREATE TABLE conflict_place (
    place    BLOB NOT NULL CHECK (length(place) = 16),
    conflict BLOB NOT NULL CHECK (length(conflict) = 16),
    PRIMARY KEY (place, conflict)
) STRICT, WITHOUT ROWID;
