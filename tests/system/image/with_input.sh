# with_input.sh <command>...: runs the command with three lines of input.
printf '1\n2\nthree\n' | "$@"
