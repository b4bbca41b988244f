#!/bin/sh
# Serves a desk with months of demonstration data, a sandbox that fails at random, and an automation that goes on: `make demo`.
#
#   ONCEOVER_LISTEN            where (default 127.0.0.1:8080)
#   ONCEOVER_SANDBOX_LISTEN    where the sandbox listens (default 127.0.0.1:9090)
#   ONCEOVER_DEMO              the folder of its database (default demo); delete it to begin anew
#   ONCEOVER_DEMO_OPERATIONS   how many operations lie in the past (default 5000)
#   ONCEOVER_DEMO_PAUSE        seconds between two orders (default 2)
#   ONCEOVER_BINARY            this binary is taken and none is built
set -eu
cd "$(dirname "$0")/.."

folder="${ONCEOVER_DEMO:-demo}"
sandbox="${ONCEOVER_SANDBOX_LISTEN:-127.0.0.1:9090}"
pause="${ONCEOVER_DEMO_PAUSE:-2}"
export ONCEOVER_LISTEN="${ONCEOVER_LISTEN:-127.0.0.1:8080}"
export ONCEOVER_DATABASE="sqlite://$folder/onceover.db"
# It fails on purpose all the time; the desk tells of it.
export ONCEOVER_LOG="${ONCEOVER_LOG:-error}"
onceover="${ONCEOVER_BINARY:-${CARGO_TARGET_DIR:-target}/release/onceover}"

if ! command -v curl >/dev/null 2>&1; then
    echo "demo: curl is missing; the automation of the demonstration calls Onceover with it" >&2
    exit 1
fi
if [ -z "${ONCEOVER_BINARY:-}" ]; then
    scripts/setup.sh build
    echo "building: minutes the first time, seconds later" >&2
    cargo xtask build
fi

# What is inside is nobody else's to read.
umask 077
if [ ! -e "$folder/token" ]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    "$onceover" seed --operations "${ONCEOVER_DEMO_OPERATIONS:-5000}" --unknown 40 --conflicts 25
    # What the history is made of, and a destination that is really there.
    "$onceover" export >"$folder/onceover.toml"
    "$onceover" sandbox --listen "$sandbox" --print-config |
        sed -e 's/^# \(\[workflow.pull\]\)/\1/' -e 's/^# every_hours = .*/every_hours = 1/' \
            -e 's/^# companies = .*/companies = ["acme-in"]/' >>"$folder/onceover.toml"
    "$onceover" apply "$folder/onceover.toml"
    od -An -N9 -tx1 /dev/urandom | tr -d ' \n' >"$folder/password"
    for role in viewer operator finance admin; do
        "$onceover" user create --email "$role@demo.example" --role "$role" <"$folder/password"
    done
    # Over an amount, and for amendments, a second person decides.
    "$onceover" user create --email second@demo.example --role finance <"$folder/password"
    "$onceover" token create --name demo-shop >"$folder/token"
fi

"$onceover" sandbox --listen "$sandbox" --data "$folder/sandbox.db" \
    --fault cut_after:0.08 --fault cut_before:0.05 --fault fail_after:0.04 --fault refuse:0.03 &
sandbox_pid=$!
"$onceover" serve &
serve_pid=$!
trap 'kill "$serve_pid" "$sandbox_pid" 2>/dev/null || true; wait' EXIT
trap 'exit 0' INT TERM

until curl --silent --fail --output /dev/null "http://$ONCEOVER_LISTEN/readyz"; do
    kill -0 "$serve_pid" 2>/dev/null || exit 1
    sleep 0.3
done
cat >&2 <<WELCOME

This is a demonstration: none of it happened, and nobody is paid.
Sign in at http://$ONCEOVER_LISTEN as operator@demo.example, finance@demo.example, second@demo.example (finance too),
admin@demo.example or viewer@demo.example. The password of all is $(cat "$folder/password").

WELCOME

# send DOCUMENT AMOUNT: hands an order over through the proxy, as an automation that knows a URL and a few headers, and tries again.
send() {
    for pause_after in 15 30 60; do
        status=$(curl --silent --output /dev/null --write-out '%{http_code}' --max-time 30 \
            "http://$ONCEOVER_LISTEN/proxy/sandbox-task/tasks" \
            -H "Authorization: Bearer $(cat "$folder/token")" -H 'Content-Type: application/json' \
            -H 'Onceover-Company: acme-in' -H 'Onceover-Source-System: shop' -H "Onceover-Document: $1" \
            -d '{"company":"acme-in","customer":"C-'"$((number % 40 + 10))"'","currency":"EUR","amount":"'"$2"'"}') || true
        case $status in
        2?? | 422) return ;; # made, or nothing that another try mends
        esac
        sleep "$pause_after"
    done
}

number=$(date +%s)
while kill -0 "$serve_pid" 2>/dev/null; do
    number=$((number + 1))
    amount="$((number * 7919 % 1900 + 20)).$((number % 90 + 10))"
    send "order-$number" "$amount" &
    case $((number % 12)) in
    # Submit is pressed again at once, a worker restarts a little later, a queue delivers three times.
    2) send "order-$number" "$amount" & ;;
    5) sleep 1 && send "order-$number" "$amount" & ;;
    7) for _ in 1 2 3; do send "order-$number" "$amount"; done & ;;
    # The same order comes with another amount.
    9) sleep 1 && send "order-$number" "1$amount" & ;;
    esac
    sleep "$pause"
done
