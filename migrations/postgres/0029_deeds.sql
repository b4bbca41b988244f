-- What one person did of one kind has an index of its own.
CREATE INDEX entry_by_person_and_kind ON entry (actor, kind, at, chain, sequence) WHERE substr(actor, 1, 7) = 'person:';
