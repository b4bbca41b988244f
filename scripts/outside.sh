#!/bin/sh
# Tests the API as a stranger would: schemathesis sends what the API's description allows and what it does not, promtool reads
# the metrics. outside.sh ONCEOVER, the binary.
#
#   ONCEOVER_OUTSIDE_SECONDS   how long schemathesis may take (default 60)
set -eu
cd "$(dirname "$0")/.."

BINARY=$1
SECONDS_MAX=${ONCEOVER_OUTSIDE_SECONDS:-60}
TOOLS="$PWD/target/tools"
PROMTOOL=$(command -v promtool || echo "$TOOLS/prometheus/usr/bin/promtool")

home=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || { kill "$server" && wait "$server" || :; }
    rm -rf "$home"
}
trap finish EXIT INT TERM

# Names that generated values meet by chance.
cat >"$home/onceover.toml" <<'END'
[[workflow]]
name = "0"
actions = ["0", "create"]
[[workflow]]
name = "00"
actions = ["0", "create"]
two_step = true
END
database="sqlite://$home/data/onceover.db"
"$BINARY" apply "$home/onceover.toml" --database "$database" >"$home/applied"
token=$("$BINARY" token create --name outside --database "$database")
"$BINARY" serve --listen 127.0.0.1:0 --database "$database" >"$home/served" 2>"$home/log" &
server=$!
tries=0
until address=$(sed -n 's/^Onceover is at //p' "$home/served") && [ -n "$address" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 100 ] || { cat "$home/log" >&2; exit 1; }
    sleep 0.1
done
address=${address%% *}

# 422 is also the answer to what no schema can say: another payload under the same key, a lease beyond the workflow's.
cat >"$home/schemathesis.toml" <<'END'
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "422"]
END
# It keeps what it found where it runs.
(cd "$home" && "$TOOLS/schemathesis/bin/schemathesis" run "$address/api/v1/openapi.json" --no-color --workers 2 \
    --header "Authorization: Bearer $token" --checks all --phases examples,coverage,fuzzing,stateful --max-examples 40 \
    --max-time "$SECONDS_MAX" --seed 20261129 --generation-deterministic)

# A name that could break the text of the metrics, were it not escaped.
curl --silent --show-error --fail --output "$home/begun" --header "Authorization: Bearer $token" --json \
    '{"workflow":"0","company":"quote \" and \\","source_system":"0","document":"0","payload":{}}' "$address/api/v1/operations"
curl --silent --show-error --fail --header "Authorization: Bearer $token" --output "$home/metrics" "$address/metrics"
"$PROMTOOL" check metrics <"$home/metrics"

# What docs/monitoring asks of the metrics: that it can be asked, that the alerts say what they should, that no metric is asked for that
# there is not.
"$PROMTOOL" check rules docs/monitoring/alerts.yml
"$PROMTOOL" test rules docs/monitoring/alerts_test.yml
jq '{groups: [{name: "dashboard", rules: [.panels[] | .title as $title | .targets[] | {
    record: "asked", labels: {panel: $title, query: .refId}, expr: (.expr | gsub("\\[\\$__[a-z_]+\\]"; "[5m]"))}]}]}' \
    docs/monitoring/dashboard.json >"$home/dashboard.yml"
"$PROMTOOL" check rules "$home/dashboard.yml"
sed -n 's/^# TYPE \(onceover_[a-z_]*\) .*/\1/p' "$home/metrics" | sort >"$home/told"
grep --no-filename --only-matching 'onceover_[a-z_]*' docs/monitoring/alerts.yml docs/monitoring/dashboard.json docs/monitoring/README.md |
    sed 's/_bucket$//; s/_count$//' | sort --unique >"$home/asked"
if ! comm -13 "$home/told" "$home/asked" | diff - /dev/null; then
    echo "outside: docs/monitoring asks for metrics that there are not" >&2
    exit 1
fi
if grep '"status":5' "$home/log"; then
    echo "outside: the server failed" >&2
    exit 1
fi
