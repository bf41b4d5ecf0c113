#!/bin/sh
# expect_setting.sh <status> <setting> <command>...: the command ends with this status; when that is not 0,
# with one line that names the setting, the ranks of the two values and the remedy.
status=$1 setting=$2
shift 2
errors=$("$@" 2>&1 >/dev/null </dev/null)
got=$?
echo "$errors"
[ "$got" -eq "$status" ] || { echo "status $got, not $status"; exit 1; }
[ "$status" -eq 0 ] && exit 0
case $errors in
  *"rank 1 has $setting="*"rank 0 has $setting="*"for \`musubi run\`"*) exit 0 ;;
esac
exit 1
