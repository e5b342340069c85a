# A server on a socket of its own, redis-benchmark beside it.
cd "$1"
redis-server --port 0 --unixsocket "$1/socket" --save '' \
  --daemonize yes --pidfile "$1/pid" --logfile "$1/log" || exit 9
until redis-cli -s "$1/socket" ping >/dev/null 2>&1; do sleep 0.05; done
redis-benchmark -s "$1/socket" -q -n 1000 -c 5 -t set,get >/dev/null
status=$?
redis-cli -s "$1/socket" info commandstats |
  sed -n 's/^cmdstat_\([gs]et\):calls=\([0-9]*\),.*/\1 \2/p' | sort
echo "commands $(redis-cli -s "$1/socket" info stats |
  sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p')"
redis-cli -s "$1/socket" shutdown nosave
exit $status
