\set n random(1, :known)
SELECT array_agg(id)::text AS chains FROM bench_chain WHERE number >= :n AND number < :n + 1000 \gset
SELECT entry.at, entry.chain, entry.sequence, entry.hash FROM unnest((:chains)::uuid[]) AS asked (chain) JOIN entry ON entry.chain = asked.chain AND entry.sequence = 1::bigint;
