# expect.sh <status> <output> <command>...: fails unless the command ends with the status and prints exactly
# the output.
status=$1
expected=$(printf '%b' "$2")
shift 2
printed=$("$@" </dev/null)
ended=$?
if [ "$ended" -ne "$status" ] || [ "$printed" != "$expected" ]; then
  echo "status $ended, expected $status; printed:"
  echo "$printed"
  exit 1
fi
