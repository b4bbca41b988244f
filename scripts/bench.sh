#!/bin/sh
# `make bench`: Onceover beside what it stands on; then the same with every fsync 1 ms slower, since a user's disk is slower.
set -eu
cd "$(dirname "$0")/.."

mkdir -p target/bench
# Readable by the user that PostgreSQL runs as.
preload=$(mktemp "${TMPDIR:-/tmp}/onceover-slow-fsync.XXXXXX")
trap 'rm -f "$preload"' EXIT
cc -O2 -shared -fPIC -o "$preload" server/benches/compare/slow_fsync.c -ldl
chmod 755 "$preload"

ONCEOVER_BENCH_FOLDER=$PWD/target/bench
# Durable, as in production: the private server of the tests runs without fsync.
ONCEOVER_POSTGRES_OPTIONS="-c fsync=on"
export ONCEOVER_BENCH_FOLDER ONCEOVER_POSTGRES_OPTIONS

cargo build --release --locked --package onceover-server --bin onceover --bench compare --bench lists --bench reconcile
scripts/with-postgres.sh cargo bench --locked --package onceover-server --bench compare
scripts/with-postgres.sh cargo bench --locked --package onceover-server --bench lists
scripts/with-postgres.sh cargo bench --locked --package onceover-server --bench reconcile
ONCEOVER_POSTGRES_PRELOAD=$preload ONCEOVER_BENCH_PRELOAD=$preload ONCEOVER_BENCH_OPERATIONS=1 \
    scripts/with-postgres.sh cargo bench --locked --package onceover-server --bench compare
