\set m random(:from, :until)
SELECT at, chain, sequence, hash FROM entry WHERE (at, chain, sequence) > ((:m)::bigint, '00000000-0000-0000-0000-000000000000'::uuid, 0::bigint) AND at < (:m)::bigint + 60000 ORDER BY at, chain, sequence LIMIT 5000;
