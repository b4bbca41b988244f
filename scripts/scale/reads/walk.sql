\set n random(1, :known)
SELECT id AS chain FROM bench_chain WHERE number = :n \gset
SELECT chain, sequence, at, actor, kind, detail, hash FROM entry WHERE (chain, sequence) > ((:chain)::uuid, 0::bigint) ORDER BY chain, sequence LIMIT 1000;
