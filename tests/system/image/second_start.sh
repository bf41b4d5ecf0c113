#!/bin/bash
# second_start.sh <musubi> <program>: the first start decodes code, and later starts decode none, even two at
# once. Without scan_cache each start decodes, and also if the folder cannot be made.
musubi=$1
program=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

decoded() { # <scan_cache>
  "$musubi" run -n 2 --set stats=true --set scan_cache="$1" "$program" 2>&1 |
    awk '$1 == "scanned_bytes" {found = $NF} END {print found + 0}'
}
check() { # <name> <number> <condition>
  echo "$1: $2 bytes"
  [ "$2" "${@:3}" ] || exit 1
}

check "first start" "$(decoded "$folder/cache")" -gt 0
check "second start" "$(decoded "$folder/cache")" -eq 0
decoded "$folder/both" > "$folder/one" &
check "one of two at once" "$(decoded "$folder/both")" -ge 0
wait
check "after them" "$(decoded "$folder/both")" -eq 0
check "without a cache" "$(decoded "")" -gt 0
check "with a folder that cannot be" "$(decoded /proc/no/such)" -gt 0
for file in "$folder"/cache/*; do echo damage >> "$file"; done
check "damaged" "$(decoded "$folder/cache")" -gt 0
check "mended" "$(decoded "$folder/cache")" -eq 0
