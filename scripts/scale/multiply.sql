-- Makes :times stores out of one: every operation with its payload, its entries and its look :times - 1 times again, each in the 90 days
-- before the ones that are there, under keys and documents of its own. An id keeps its random bits, so that its place is that of its moment.
CREATE FUNCTION earlier(id uuid, days bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (lpad(to_hex((('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint - days * 86400000)), 12, '0')
            || substr(replace(id::text, '-', ''), 13))::uuid
$$;
INSERT INTO operation (id, key_hash, workflow, company, source_system, document, action, revision, state, state_since, lease_expires_at, reason,
    destination_reference, version, head, fingerprint, fingerprint_scheme, policy_version, attempt, lease_token, attempt_token, begin_id,
    worker, begun_at, amount, currency, ten_thousandths, duplicates_prevented, open_conflicts, created_at, updated_at)
SELECT earlier(id, age.days), substr(sha256(key_hash || convert_to(age.days::text, 'UTF8')), 1, 16), workflow, company, source_system,
    document || '-' || age.days, action, revision, state, state_since - age.days * 86400000, lease_expires_at, reason,
    destination_reference || '-' || age.days, version, head, fingerprint, fingerprint_scheme, policy_version, attempt, lease_token,
    attempt_token, begin_id, worker, begun_at - age.days * 86400000, amount, currency, ten_thousandths, duplicates_prevented,
    open_conflicts, created_at - age.days * 86400000, updated_at - age.days * 86400000
FROM generate_series(1, :times - 1) AS past (number)
CROSS JOIN LATERAL (SELECT past.number::bigint * 90 AS days) AS age
CROSS JOIN operation ORDER BY 1;
INSERT INTO body SELECT earlier(operation, past.number::bigint * 90), kind, content
FROM generate_series(1, :times - 1) AS past (number) CROSS JOIN body ORDER BY 1, 2;
INSERT INTO look_alike SELECT earlier(operation, past.number::bigint * 90), substr(sha256(look || convert_to(past.number::text, 'UTF8')), 1, 16)
FROM generate_series(1, :times - 1) AS past (number) CROSS JOIN look_alike ORDER BY 1;
INSERT INTO entry SELECT earlier(chain, past.number::bigint * 90), sequence, at - past.number::bigint * 90 * 86400000, actor, kind, detail, hash
FROM generate_series(1, :times - 1) AS past (number) CROSS JOIN entry
WHERE chain <> '00000000-0000-0000-0000-000000000000' ORDER BY 1, 2;
-- A day more between them, so that the hours of two never meet.
INSERT INTO count SELECT workflow, company, counted, hour - past.times::bigint * 91 * 86400000, currency, slot, count.number, ten_thousandths
FROM generate_series(1, :times - 1) AS past (times) CROSS JOIN count ORDER BY 4, 1, 2, 3;
