#!/bin/bash
# measure.sh DATABASE: medians of five runs of the hot statements on a store, with the settings of the server's own connections.
set -euo pipefail
cd "$(dirname "$0")"
url=$1
runs=${RUNS:-5} seconds=${SECONDS_EACH:-3}
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
ask() { psql --no-psqlrc --quiet --tuples-only --no-align "$url" --command "$1"; }
export PGOPTIONS="-c plan_cache_mode=force_custom_plan -c enable_seqscan=off -c enable_bitmapscan=off"
from=$(ask "SELECT min(at) FROM entry") until=$(ask "SELECT max(at) FROM entry") known=$(ask "SELECT count(*) - 1001 FROM bench_chain")
for read in ${READS:-key trail newest activity seal walk hashes}; do
    for _ in $(seq "$runs"); do
        pgbench --no-vacuum --protocol=prepared --report-per-command --time="$seconds" --define=from="$from" --define=until="$until" --define=known="$known" \
            --file=reads/$read.sql "$url" 2>/dev/null | grep -E '^ +[0-9.]+ +[0-9]+ +SELECT' | tail -1 | awk '{ print $1 }'
    done | median | sed "s/^/$read ms /"
done
unset PGOPTIONS
for _ in $(seq "$runs"); do
    pgbench --no-vacuum --client=2 --time="${SECONDS_WRITE:-8}" --file=<(echo "CALL bench_pair(32);") "$url" 2>/dev/null |
        awk '/^tps/ { print $3 * 32 }'
done | median | sed "s/^/pairs per second /"
