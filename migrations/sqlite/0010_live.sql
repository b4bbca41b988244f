-- What people did, as a list over all chains: by moment, by person, by kind. Automations touch none of these indexes.
CREATE INDEX entry_by_people ON entry (at, chain, sequence) WHERE substr(actor, 1, 7) = 'person:';
CREATE INDEX entry_by_person ON entry (actor, at, chain, sequence) WHERE substr(actor, 1, 7) = 'person:';
CREATE INDEX entry_of_people_by_kind ON entry (kind, at, chain, sequence) WHERE substr(actor, 1, 7) = 'person:';

-- What the last verification of the trail showed: one row.
CREATE TABLE trail_check (
    number  INTEGER NOT NULL PRIMARY KEY CHECK (number = 1),
    at      INTEGER NOT NULL,
    entries INTEGER NOT NULL CHECK (entries >= 0),
    broken  TEXT
) STRICT;
