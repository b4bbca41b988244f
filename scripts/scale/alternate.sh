#!/bin/bash
# alternate.sh DATABASE: the statements over the trail on entry and on entry_parted in turn, each the median of five turns.
set -euo pipefail
cd "$(dirname "$0")"
url=$1 turns=${TURNS:-5}
out=$(mktemp)
swap() { psql --no-psqlrc --quiet "$url" -c "BEGIN; ALTER TABLE entry RENAME TO entry_$1; ALTER TABLE entry_$2 RENAME TO entry; COMMIT"; }
for _ in $(seq "$turns"); do
    RUNS=1 SECONDS_EACH=2 SECONDS_WRITE=5 READS="trail activity seal walk hashes" ./measure.sh "$url" | sed 's/^/whole /' >>"$out"
    swap whole parted
    RUNS=1 SECONDS_EACH=2 SECONDS_WRITE=5 READS="trail activity seal walk hashes" ./measure.sh "$url" | sed 's/^/parted /' >>"$out"
    swap parted whole
done
for what in trail activity seal walk hashes pairs; do
    for of in whole parted; do
        grep "^$of $what" "$out" | awk '{ print $NF }' | sort -g | awk -v label="$what $of" '{ v[NR] = $1 } END { print label, v[int((NR + 1) / 2)], "(" v[1] ".." v[NR] ")" }'
    done
done
