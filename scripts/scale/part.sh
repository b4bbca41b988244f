#!/bin/bash
# part.sh DATABASE PARTS: the trail again as entry_parted, in parts of equal length in time.
set -euo pipefail
url=$1 parts=$2
psql --no-psqlrc --quiet "$url" <<SQL
SET maintenance_work_mem = '512MB';
CREATE TABLE entry_parted (LIKE entry INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (chain);
DO \$\$
DECLARE
    oldest bigint := (SELECT min(created_at) FROM operation);
    step bigint := ((SELECT max(created_at) FROM operation) - oldest) / ($parts - 1);
    edge text; last text := 'MINVALUE';
BEGIN
    FOR part IN 1..$parts LOOP
        edge := quote_literal(rpad(lpad(to_hex(oldest + part * step), 12, '0'), 32, '0')::uuid);
        IF part = $parts THEN edge := 'MAXVALUE'; END IF;
        EXECUTE format('CREATE TABLE entry_part_%s PARTITION OF entry_parted FOR VALUES FROM (%s) TO (%s)', part, last, edge);
        last := edge;
    END LOOP;
END \$\$;
INSERT INTO entry_parted SELECT * FROM entry ORDER BY chain, sequence;
ALTER TABLE entry_parted ADD PRIMARY KEY (chain, sequence);
CREATE INDEX ON entry_parted (at);
CREATE INDEX ON entry_parted (at, chain, sequence) WHERE substr(actor, 1, 7) = 'person:';
CREATE INDEX ON entry_parted (actor, at, chain, sequence) WHERE substr(actor, 1, 7) = 'person:';
CREATE INDEX ON entry_parted (kind, at, chain, sequence) WHERE substr(actor, 1, 7) = 'person:';
VACUUM (ANALYZE) entry_parted;
SQL
