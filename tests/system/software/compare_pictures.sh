# compare_pictures.sh <convert> <command>...: the pixels must be those of one process.
folder=$(dirname "$0")
native=$(OMP_NUM_THREADS=2 sh "$folder/pictures.sh" "$1") || exit 1
ranked=$(sh "$folder/pictures.sh" "$@") || exit 1
[ "$native" = "$ranked" ] && exit 0
echo "natively: $native; over ranks: $ranked"
exit 1
