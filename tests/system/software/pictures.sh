# pictures.sh <convert> <command>...: ImageMagick started through <command> (none: as one process); prints the
# sum of the pixels of a picture that went through its parallel loops.
convert=$1
shift
"$@" "$convert" -size 300x200 gradient:red-blue -blur 0x3 -resize 450x320 -sharpen 0x1 -rotate 90 \
  -depth 8 rgb:- | cksum
