\set n random(1, :known)
SELECT key_hash AS key FROM bench_chain WHERE number = :n \gset
SELECT * FROM operation WHERE key_hash = ANY (ARRAY[(:key)::bytea]);
