#!/bin/sh
# The standby of compose.cluster.yaml: copies the primary the first time, then replicates from it, or runs as primary after promotion.
set -eu
data=/var/lib/postgresql/data
while [ ! -e "$data/standby" ]; do
    rm -rf "$data/new"
    if pg_basebackup -d "host=db1 user=gramme application_name=standby" -D "$data/new" -X stream -R; then
        chmod 0700 "$data/new"
        mv "$data/new" "$data/standby"
    else
        sleep 1
    fi
done
# The primary's settings were copied, too: once promoted, commits would wait for a standby of its own, which it does not have.
exec postgres -D "$data/standby" -c max_connections=100 -c synchronous_standby_names=
