-- Lengthens the history of every operation to :events entries, in the shape of those that are there, a day after one another. The hashes
-- are those of nothing: what is measured afterwards is the database, not the proof.
INSERT INTO entry (chain, sequence, at, actor, kind, detail, hash)
SELECT head.id, head.version + more.number, head.updated_at + more.number * 3600000::bigint, last.actor, last.kind, last.detail,
       sha256(convert_to(head.id::text || more.number, 'UTF8'))
FROM operation AS head
JOIN entry AS last ON last.chain = head.id AND last.sequence = head.version
CROSS JOIN LATERAL generate_series(1, :events - head.version) AS more (number)
ORDER BY head.id, more.number;
