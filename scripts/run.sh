#!/bin/sh
# Builds the release binary and serves the desk on SQLite in ./data: `make run`.
#
#   ONCEOVER_LISTEN     where (default 127.0.0.1:8080)
#   ONCEOVER_DATABASE   on what (default sqlite://data/onceover.db)
set -eu
cd "$(dirname "$0")/.."

scripts/setup.sh build
# The first thing that cargo compiles is the build itself, and it does so in silence.
echo "building: minutes the first time, seconds later" >&2
cargo xtask build

# What is inside is nobody else's to read.
(umask 077 && mkdir -p data)
export ONCEOVER_LISTEN="${ONCEOVER_LISTEN:-127.0.0.1:8080}"
export ONCEOVER_DATABASE="${ONCEOVER_DATABASE:-sqlite://data/onceover.db}"
exec "${CARGO_TARGET_DIR:-target}/release/onceover" serve
