#!/bin/sh
# Installs what is missing and leaves what is there: setup.sh build | test
#
#   build   the pinned Rust with its wasm32 target, and a C compiler (for SQLite)
#   test    the same, and Chromium, PostgreSQL, the modules of the browser tests, cargo-deny, schemathesis, promtool, curl, jq
#
# Debian's packages are installed with apt-get; on other systems the missing thing is named.
set -eu
cd "$(dirname "$0")/.."

# The version that `make test` checks licences, bans and sources with.
CARGO_DENY_VERSION=0.20.2
# The oldest that Playwright runs on.
NODE_MAJOR=20
# The version that tests the API by its description.
SCHEMATHESIS_VERSION=4.32.5
TOOLS="$PWD/target/tools"

say() { printf '%s\n' "setup: $*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }

# install_package WHAT PACKAGE…
install_package() {
    what=$1
    shift
    if ! has apt-get; then
        say "$what is missing, and there is no apt-get here: please install it"
        exit 1
    fi
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        if ! has sudo; then
            say "$what is missing: as root, run: apt-get install $*"
            exit 1
        fi
        as_root=sudo
    fi
    say "installing $what ($*)"
    # The package lists may be missing or too old to be found by.
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install --yes --quiet=2 --no-install-recommends "$@" >/dev/null 2>&1 ||
        { $as_root apt-get update --quiet=2 >/dev/null &&
            DEBIAN_FRONTEND=noninteractive $as_root apt-get install --yes --quiet=2 --no-install-recommends "$@" >/dev/null; }
}

rust() {
    if ! has cargo; then
        say "Rust is missing: install rustup from https://rustup.rs"
        exit 1
    fi
    if has rustup; then
        # What is installed by an explicit call is not stopped by RUSTUP_AUTO_INSTALL=0. Nothing is fetched where all of it is there.
        channel=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
        sysroot=$(rustup run "$channel" rustc --print sysroot 2>/dev/null) || sysroot=
        if [ -z "$sysroot" ] || [ ! -d "$sysroot/lib/rustlib/wasm32-unknown-unknown" ] || [ ! -x "$sysroot/bin/cargo-clippy" ] ||
            [ ! -x "$sysroot/bin/rustfmt" ]; then
            say "installing Rust $channel with its wasm32 target"
            rustup toolchain install "$channel" --no-self-update --profile minimal --component rustfmt,clippy \
                --target wasm32-unknown-unknown >/dev/null
        fi
    elif [ ! -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ]; then
        say "this Rust is without its wasm32-unknown-unknown target, and there is no rustup to add it: please install it"
        exit 1
    fi
    has cc || install_package "a C compiler" gcc libc6-dev
}

browser() {
    if [ -z "${ONCEOVER_CHROMIUM:-}" ] && ! has chromium && ! has chromium-browser && ! has google-chrome; then
        install_package Chromium chromium
    fi
    has npm || install_package Node.js nodejs npm
    node_major=$(node --print 'process.versions.node.split(".")[0]')
    if [ "$node_major" -lt "$NODE_MAJOR" ]; then
        say "the browser tests need Node.js $NODE_MAJOR or newer; this one is $(node --version)"
        exit 1
    fi
    # npm writes this file last; where it is as new as the lock file, nothing is missing.
    if [ ! -f end2end/node_modules/.package-lock.json ] ||
        [ end2end/package-lock.json -nt end2end/node_modules/.package-lock.json ]; then
        say "installing the modules of the browser tests"
        (cd end2end && npm ci --silent && touch node_modules/.package-lock.json)
    fi
}

postgres() {
    has initdb && return
    for folder in /usr/lib/postgresql/*/bin; do
        [ -x "$folder/initdb" ] && return
    done
    # A server of the whole machine is not wanted: the tests start their own.
    if [ "$(id -u)" -eq 0 ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        mkdir -p /etc/postgresql-common
        echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    fi
    install_package PostgreSQL postgresql
}

deny() {
    for binary in "$TOOLS/bin/cargo-deny" cargo-deny; do
        [ "$("$binary" --version 2>/dev/null || :)" = "cargo-deny $CARGO_DENY_VERSION" ] && return
    done
    say "installing cargo-deny $CARGO_DENY_VERSION from source"
    # It runs for a second: compiling it well would take longer than it ever saves.
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=256 \
        CARGO_TARGET_DIR="$TOOLS/build" cargo install cargo-deny --version "$CARGO_DENY_VERSION" --locked --quiet --root "$TOOLS"
    rm -rf "$TOOLS/build"
}

# What tests the API from outside.
outside() {
    has curl || install_package curl curl
    # For the recipes.
    has jq || install_package jq jq
    if [ "$("$TOOLS/schemathesis/bin/schemathesis" --version 2>/dev/null | sed 's/.* //')" != "$SCHEMATHESIS_VERSION" ]; then
        python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || install_package Python python3 python3-venv
        say "installing schemathesis $SCHEMATHESIS_VERSION"
        rm -rf "$TOOLS/schemathesis"
        python3 -m venv "$TOOLS/schemathesis"
        "$TOOLS/schemathesis/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$SCHEMATHESIS_VERSION"
    fi
    if ! has promtool && [ ! -x "$TOOLS/prometheus/usr/bin/promtool" ]; then
        has apt-get || { say "promtool is missing, and there is no apt-get here: please install Prometheus"; exit 1; }
        say "fetching promtool"
        # Unpacked and not installed: a Prometheus server of the whole machine is not wanted.
        mkdir -p "$TOOLS/prometheus"
        (cd "$TOOLS/prometheus" && { apt-get download --quiet=2 prometheus || { apt-get update --quiet=2 && apt-get download --quiet=2 prometheus; }; } &&
            dpkg-deb --extract prometheus_*.deb . && rm prometheus_*.deb) >/dev/null 2>&1
    fi
}

case ${1:-} in
build) rust ;;
test)
    rust
    browser
    postgres
    deny
    outside
    ;;
*)
    say "what for? build or test"
    exit 2
    ;;
esac
