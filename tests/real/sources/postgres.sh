# A server of its own, pgbench beside it.
# usage: postgres.sh FOLDER BIN
bin=$2
PGHOST=$1 PGDATABASE=postgres PGUSER=real PGSERVICEFILE=/dev/null
export PGHOST PGDATABASE PGUSER
"$bin/pg_ctl" -s -w -D "$1/data" -l "$1/log" \
  -o "-k '$1' -c listen_addresses='' -c log_statement=all" start || exit 9
"$bin/pgbench" -n -S -c 2 -j 2 -t 100 2>"$1/pgbench.err" >"$1/pgbench.out"
status=$?
"$bin/pg_ctl" -s -w -D "$1/data" -m fast stop
grep -E 'actually processed|failed transactions' "$1/pgbench.out"
echo "statements $(grep -c 'LOG:  statement: ' "$1/log")"
exit $status
