-- What people did is walked through in an index alone: the condition of an index must stand in it, or each row is read for it. What one
-- person did of one kind has an index of its own.
DROP INDEX entry_by_people;
CREATE INDEX entry_by_people ON entry (at, chain, sequence, actor) WHERE substr(actor, 1, 7) = 'person:';
DROP INDEX entry_of_people_by_kind;
CREATE INDEX entry_of_people_by_kind ON entry (kind, at, chain, sequence, actor) WHERE substr(actor, 1, 7) = 'person:';
CREATE INDEX entry_by_person_and_kind ON entry (actor, kind, at, chain, sequence) WHERE substr(actor, 1, 7) = 'person:';
