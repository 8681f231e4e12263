#!/bin/bash
# What the GitHub Action does: starts a server in memory, runs a command beside it, checks the access patterns that the command
# caused, and stops the server. Fails if the command or the check does. The inputs of action.yml are variables here.
set -euo pipefail

folder=$(mktemp -d)
server=
# Whatever happens, the server ends: its standard input is a pipe that this script holds.
finish() {
    if [ -n "${pipe:-}" ]; then exec {pipe}>&-; fi
    if [ -n "$server" ]; then wait "$server" || true; fi
    rm -rf "$folder"
}

fail() {
    echo "::error title=Gramme::$1"
    exit 1
}

# Prints the path of the program.
find_program() {
    local tarball=${GRAMME_ACTION_TARBALL:-}
    if [ -z "$tarball" ]; then
        command -v gramme || fail "there is no gramme in PATH; name a tarball"
        return
    fi
    case $tarball in
    http://* | https://*)
        curl --fail --silent --show-error --location --output "$folder/gramme.tar.gz" "$tarball" || fail "$tarball cannot be had" >&2
        tarball=$folder/gramme.tar.gz
        ;;
    esac
    [ -r "$tarball" ] || fail "$tarball cannot be read"
    if [ -n "${GRAMME_ACTION_SHA256:-}" ]; then
        echo "$GRAMME_ACTION_SHA256  $tarball" | sha256sum --check --quiet >&2 || fail "the SHA-256 of the tarball is not as given"
    fi
    mkdir "$folder/gramme"
    tar -xzf "$tarball" --strip-components=1 -C "$folder/gramme" || fail "the tarball cannot be unpacked"
    echo "$folder/gramme/bin/gramme"
}

# Prints the endpoint from the server's log; fails if the server has exited.
await_endpoint() {
    local endpoint
    until endpoint=$(grep -om1 'serves http://[^ ,]*' "$folder/log"); do
        kill -0 "$server" 2>/dev/null || { cat "$folder/log"; fail "the server did not start"; }
        sleep 0.02
    done
    echo "${endpoint#serves }"
}

trap finish EXIT
[ -n "${GRAMME_ACTION_RUN:-}" ] || fail "the input 'run' is empty"
if [ -n "${GRAMME_ACTION_CONTRACT:-}" ] && [ ! -r "$GRAMME_ACTION_CONTRACT" ]; then
    fail "the contract $GRAMME_ACTION_CONTRACT cannot be read"
fi
if ! program=$(find_program); then
    echo "$program"
    exit 1
fi
# A coprocess's pipe ends with this script, also if that is killed.
mkfifo "$folder/input"
touch "$folder/log"
# shellcheck disable=SC2086 # options are words
"$program" serve --store memory: --listen 127.0.0.1:0 --until-eof --log-level info --log-format text --log-file - \
    ${GRAMME_ACTION_OPTIONS:-} <"$folder/input" 2>"$folder/log" &
server=$!
exec {pipe}>"$folder/input"
if ! endpoint=$(await_endpoint); then
    echo "$endpoint"
    exit 1
fi
echo "gramme serves at $endpoint"

# As the runner runs the commands of a workflow: the first line that fails ends it.
status=0
env AWS_ENDPOINT_URL_DYNAMODB="$endpoint" AWS_ENDPOINT_URL_DYNAMODB_STREAMS="$endpoint" GRAMME_ENDPOINT="$endpoint" \
    AWS_REGION="${AWS_REGION:-us-east-1}" AWS_DEFAULT_REGION="${AWS_DEFAULT_REGION:-${AWS_REGION:-us-east-1}}" \
    AWS_ACCESS_KEY_ID="${AWS_ACCESS_KEY_ID:-test}" AWS_SECRET_ACCESS_KEY="${AWS_SECRET_ACCESS_KEY:-test}" \
    bash --noprofile --norc -eo pipefail -c "$GRAMME_ACTION_RUN" {pipe}>&- || status=$?
# Also of a command that failed, and before the check.
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    { echo '### Access patterns'; echo '```'; "$program" patterns list --endpoint "$endpoint" || true; echo '```'; } >>"$GITHUB_STEP_SUMMARY"
fi
[ "$status" = 0 ] || fail "the command ended with status $status"

if [ -n "${GRAMME_ACTION_CONTRACT:-}" ]; then
    junit=()
    [ -z "${GRAMME_ACTION_JUNIT:-}" ] || junit=(--junit "$GRAMME_ACTION_JUNIT")
    "$program" patterns check "$GRAMME_ACTION_CONTRACT" --endpoint "$endpoint" "${junit[@]}" || status=$?
    [ "$status" = 0 ] || fail "the access patterns are not those of $GRAMME_ACTION_CONTRACT"
else
    "$program" patterns list --endpoint "$endpoint"
fi
