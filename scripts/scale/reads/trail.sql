\set n random(1, :known)
SELECT id AS chain FROM bench_chain WHERE number = :n \gset
SELECT chain, sequence, at, actor, kind, detail, hash FROM entry WHERE chain = (:chain)::uuid AND sequence > 0 ORDER BY sequence LIMIT 500;
