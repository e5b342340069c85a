# nginx as a daemon, and ab beside it.
# usage: nginx.sh FOLDER PORT
nginx -p "$1" -c "$1/nginx.conf" -e "$1/error.log" || exit 9
ab -q -n 200 -c 4 "http://127.0.0.1:$2/page" >"$1/ab.out"
status=$?
nginx -p "$1" -c "$1/nginx.conf" -e "$1/error.log" -s quit
while [ -e "$1/nginx.pid" ]; do sleep 0.05; done
grep -E 'Complete requests|Failed requests|HTML transferred' "$1/ab.out"
echo "requests $(wc -l <"$1/access.log")"
exit $status
