#!/bin/sh
# Of the primary in compose.cluster.yaml, run once when its database is made: the standby may copy it, with the password; from the next
# start on commits wait for the standby.
set -eu
echo 'host replication gramme all scram-sha-256' >>"$PGDATA/pg_hba.conf"
echo "synchronous_standby_names = '1 (standby)'" >>"$PGDATA/postgresql.conf"
