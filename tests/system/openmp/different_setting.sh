#!/bin/sh
# different_setting.sh <variable> <value> <program>: runs the program with the variable set at every rank
# but 0. (The second field of MUSUBI_JOB is the rank.)
case $MUSUBI_JOB in
  *:0000:*:*:*) ;;
  *) export "$1=$2" ;;
esac
shift 2
exec "$@"
