-- The writes of a begin and of its confirmation, the same rows by the same statements, a batch in one transaction each.
DROP TABLE IF EXISTS bench_pattern, bench_chain;
CREATE UNLOGGED TABLE bench_pattern AS
SELECT row_number() OVER () AS pattern, operation.*, body.content,
       first.actor, first.detail AS begun, second.kind AS told_kind, second.detail AS told
FROM operation TABLESAMPLE BERNOULLI (least(100, 100.0 * 3000 / :operations))
JOIN body ON body.operation = operation.id AND body.kind = 'payload'
JOIN entry AS first ON first.chain = operation.id AND first.sequence = 1
JOIN entry AS second ON second.chain = operation.id AND second.sequence = 2
WHERE operation.state = 'confirmed' LIMIT 1000;
CREATE INDEX ON bench_pattern (pattern);
-- Operations that are asked for, wherever they lie.
CREATE UNLOGGED TABLE bench_chain AS
SELECT row_number() OVER () AS number, id, key_hash FROM (SELECT id, key_hash FROM operation TABLESAMPLE BERNOULLI (least(100, 100.0 * 20000 / :operations)) ORDER BY random()) AS chosen;
CREATE INDEX ON bench_chain (number);
ANALYZE bench_pattern, bench_chain;

CREATE OR REPLACE FUNCTION bench_id(at bigint) RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT (lpad(to_hex(at), 12, '0') || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid
$$;

CREATE OR REPLACE PROCEDURE bench_pair(batch bigint) LANGUAGE plpgsql AS $$
DECLARE
    now_at bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    ids uuid[] := ARRAY(SELECT bench_id(now_at) FROM generate_series(1, batch));
    first bigint := 1 + floor(random() * (1000 - batch));
BEGIN
    WITH fresh AS (
        SELECT fresh.id, pattern.* FROM unnest(ids) WITH ORDINALITY AS fresh (id, place)
        JOIN (SELECT pattern, workflow, company, source_system, document, action, fingerprint, fingerprint_scheme, policy_version, lease_token,
                     attempt_token, worker, amount, currency, ten_thousandths, content, actor, begun FROM bench_pattern) AS pattern
          ON pattern.pattern = first + fresh.place
    ), inserted AS (
        INSERT INTO operation (id, key_hash, workflow, company, source_system, document, action, revision, state, lease_expires_at, version, head,
            fingerprint, fingerprint_scheme, policy_version, attempt, lease_token, attempt_token, worker, begun_at, amount, currency,
            ten_thousandths, created_at, updated_at)
        SELECT id, substr(sha256(uuid_send(id)), 1, 16), workflow, company, source_system, document || now_at, action, 1, 'acquired', now_at + 60000,
            1, sha256(uuid_send(id)), fingerprint, fingerprint_scheme, policy_version, 1, lease_token, attempt_token, worker, now_at, amount,
            currency, ten_thousandths, now_at, now_at
        FROM fresh ORDER BY 2 ON CONFLICT DO NOTHING RETURNING id
    ), told AS (
        INSERT INTO entry (chain, sequence, at, actor, kind, detail, hash)
        SELECT id, 1, now_at, actor, 'begun', begun, sha256(uuid_send(id)) FROM fresh WHERE id = ANY (ARRAY(SELECT id FROM inserted))
    ), looks AS (
        INSERT INTO look_alike SELECT id, substr(sha256(uuid_send(id)), 3, 16) FROM fresh
    )
    INSERT INTO body SELECT id, 'payload', content FROM fresh;
    COMMIT;
    now_at := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    WITH replaced AS (
        UPDATE operation SET state = 'confirmed', state_since = now_at, lease_expires_at = NULL, destination_reference = 'bench-' || key_hash::text,
            version = 2, head = sha256(head), updated_at = now_at
        WHERE id = ANY (ids) AND version = 1 RETURNING id, head
    )
    INSERT INTO entry (chain, sequence, at, actor, kind, detail, hash)
    SELECT replaced.id, 2, now_at, actor, told_kind, told, replaced.head FROM replaced, bench_pattern WHERE pattern = first;
    COMMIT;
END $$;
