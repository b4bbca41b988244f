#!/bin/sh
# Everything that must hold before a change lands: `make test`. Stops at the first stage that fails.
#
#   ONCEOVER_TEST_POSTGRES   a PostgreSQL to use instead of a private one (a URL whose role may create databases)
#   ONCEOVER_CHROMIUM        the Chromium to use
set -eu
cd "$(dirname "$0")/.."

# A browser that hangs must not hold the run.
BROWSER_TESTS_SECONDS=900

began=$(date +%s)

# stage NAME COMMAND…
stage() {
    name=$1
    shift
    printf '\n== %s\n' "$name"
    stage_began=$(date +%s)
    "$@" || {
        printf '== %s: FAILED after %s s\n' "$name" "$(($(date +%s) - stage_began))"
        exit 1
    }
    printf '== %s: ok, %s s\n' "$name" "$(($(date +%s) - stage_began))"
}

deny() {
    binary=target/tools/bin/cargo-deny
    [ -x "$binary" ] || binary=cargo-deny
    "$binary" --log-level warn check bans licenses sources
}

# Host and browser apart: `ssr` and `hydrate` exclude each other. All of it with the features that the tests are built
# with, so that nothing is compiled twice.
lint_host() { cargo clippy --workspace --all-targets --locked --quiet -- --deny warnings; }
lint_browser() {
    cargo clippy --package onceover-app --features hydrate --target wasm32-unknown-unknown --locked --quiet -- --deny warnings
}

# The build is no part of what `--workspace` compiles (xtask/Cargo.toml).
build_of_its_own() {
    cargo clippy --package xtask --features split --all-targets --locked --quiet -- --deny warnings
    cargo test --package xtask --features split --locked --quiet
}

document() { RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet; }

compile() { cargo build --workspace --all-targets --locked --quiet; }

rust_tests() {
    if cargo nextest --version >/dev/null 2>&1; then
        scripts/with-postgres.sh cargo nextest run --workspace --locked --no-fail-fast --cargo-quiet
    else
        scripts/with-postgres.sh cargo test --workspace --locked --no-fail-fast --quiet
    fi
}

# The binary of the release build, which these tests drive.
ONCEOVER_BINARY="$PWD/target/release/onceover"
case ${CARGO_TARGET_DIR:-} in
/*) ONCEOVER_BINARY="$CARGO_TARGET_DIR/release/onceover" ;;
?*) ONCEOVER_BINARY="$PWD/$CARGO_TARGET_DIR/release/onceover" ;;
esac
export ONCEOVER_BINARY

outside_tests() { scripts/outside.sh "$ONCEOVER_BINARY"; }

browser_tests() {
    timeout "$BROWSER_TESTS_SECONDS" npm --prefix end2end test
}

stage "set up" scripts/setup.sh test
stage "format" cargo fmt --all --check
stage "licences, bans, sources" deny
stage "lints" lint_host
stage "lints of the browser's half" lint_browser
stage "the build's own lints and tests" build_of_its_own
stage "documentation" document
stage "compile the tests" compile
stage "rust tests, both databases" rust_tests
stage "build the site and the release binary" cargo xtask build
stage "the API and the metrics from outside" outside_tests
stage "browser tests" browser_tests

printf '\nEverything holds: %s s\n' "$(($(date +%s) - began))"
