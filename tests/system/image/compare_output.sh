# compare_output.sh <program> <command>...: the command must print the program's native output with two
# threads.
native=$(OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive "$1") || exit 1
shift
printed=$("$@") || exit 1
[ "$native" = "$printed" ] && exit 0
echo "natively:"
echo "$native"
echo "over ranks:"
echo "$printed"
exit 1
