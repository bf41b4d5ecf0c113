# compare_script.sh <python> <script> <command>...: the script must print the same as in one process.
python=$1
script=$2
shift 2
native=$(OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive "$python" "$script") || exit 1
printed=$("$@" "$python" "$script") || exit 1
[ "$native" = "$printed" ] && exit 0
echo "natively:"
echo "$native"
echo "over ranks:"
echo "$printed"
exit 1
