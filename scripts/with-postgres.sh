#!/bin/sh
# Runs a command beside a PostgreSQL server of its own: with-postgres.sh COMMAND…
#
# The server listens on a free port of the loopback, keeps its data in a fresh folder, and is stopped and removed when the
# command ends. The command finds it in ONCEOVER_TEST_POSTGRES, a URL whose role may create databases. Settings:
#
#   ONCEOVER_TEST_POSTGRES      already set: that server is used and none is started
#   ONCEOVER_POSTGRES_OPTIONS   options of the server (default: no fsync, since nothing here outlives the machine)
#   ONCEOVER_POSTGRES_PRELOAD   a library that is preloaded into the server
set -eu

if [ -n "${ONCEOVER_TEST_POSTGRES:-}" ]; then
    exec "$@"
fi

# PostgreSQL refuses to run as root.
USER_NAME=postgres
# Several processes, each with a pool of connections, and several tests at once.
MAX_CONNECTIONS=300

if command -v initdb >/dev/null 2>&1; then
    bin=$(dirname "$(command -v initdb)")
else
    bin=
    for folder in /usr/lib/postgresql/*/bin; do
        [ -x "$folder/initdb" ] && bin=$folder
    done
    if [ -z "$bin" ]; then
        echo "with-postgres: PostgreSQL is missing; scripts/setup.sh test installs it" >&2
        exit 1
    fi
fi

# Not below the repository: the other user may not be allowed to enter it. The name is short, since a socket lies there.
home=$(mktemp -d "${TMPDIR:-/tmp}/onceover-pg.XXXXXX")
as_user=
if [ "$(id -u)" -eq 0 ]; then
    as_user="setpriv --reuid=$USER_NAME --regid=$USER_NAME --init-groups --reset-env"
    chown "$USER_NAME" "$home"
fi

stop() {
    $as_user "$bin/pg_ctl" --pgdata="$home/data" --mode=immediate --silent stop >/dev/null 2>&1 || :
    rm -rf "$home"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# 256 bits; the file is read once by initdb.
password=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
printf '%s\n' "$password" >"$home/password"
[ -z "$as_user" ] || chown "$USER_NAME" "$home/password"
(cd "$home" && $as_user "$bin/initdb" --pgdata="$home/data" --username=onceover --pwfile="$home/password" \
    --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync >"$home/initdb.log" 2>&1) ||
    {
        cat "$home/initdb.log" >&2
        exit 1
    }

# Between finding a free port and taking it somebody else may take it.
for attempt in 1 2 3 4 5; do
    port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
    if (cd "$home" && $as_user env LD_PRELOAD="${ONCEOVER_POSTGRES_PRELOAD:-}" "$bin/pg_ctl" --pgdata="$home/data" --log="$home/data/server.log" --silent --wait start \
        --options="-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories=$home \
        -c max_connections=$MAX_CONNECTIONS ${ONCEOVER_POSTGRES_OPTIONS:--c fsync=off}"); then
        break
    fi
    if [ "$attempt" -eq 5 ]; then
        cat "$home/data/server.log" >&2
        exit 1
    fi
done

ONCEOVER_TEST_POSTGRES="postgres://onceover:$password@127.0.0.1:$port/postgres"
export ONCEOVER_TEST_POSTGRES
# Not exec: the server must be stopped afterwards.
"$@"
