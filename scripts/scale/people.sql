-- One operation in fifty was claimed by a person: what the page of people's deeds lists.
INSERT INTO entry (chain, sequence, at, actor, kind, detail, hash)
SELECT chain, sequence + 1000, at + 3600000, 'person:' || (get_byte(hash, 0) % 7) || '@example.test', 'claimed', '{}', hash
FROM entry WHERE sequence = 1 AND get_byte(hash, 1) < 5 AND chain <> '00000000-0000-0000-0000-000000000000';
