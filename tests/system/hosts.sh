# Hosts on this machine, for tests and bench/between_hosts: bash scripts include it. Namespaces of networks,
# of processes and of the host name, joined by a bridge, are hosts as far as programs can tell. Host 0 holds
# the bridge.

skip() {
  echo "skipped: $*"
  exit 77
}

# need <command>...: skips if one is missing, or if the caller may not make namespaces.
need() {
  PATH=$PATH:/usr/sbin
  local command
  for command in "$@" ip nsenter unshare; do
    command -v "$command" >/dev/null || skip "there is no $command; dev/install_packages build checks"
  done
  [[ $EUID == 0 ]] || skip "namespaces need root"
  unshare --pid --net --uts --fork true 2>/dev/null || skip "the caller may not make namespaces"
}

# make_hosts <name> <count> <network, as in 10.84.0>: host n has the address <network>.n on eth0, host 0 .254.
make_hosts() {
  hosts_name=$1 hosts_count=$2
  local reason
  reason=$(make_namespaces "$3" 2>&1) || skip "no network namespaces here: $reason"
}
make_namespaces() {
  local i head=$hosts_name-0
  ip netns add "$head" && ip -n "$head" link set lo up && ip -n "$head" link add eth0 type bridge &&
    ip -n "$head" addr add "$1.254/24" dev eth0 && ip -n "$head" link set eth0 up || return 1
  for ((i = 1; i <= hosts_count; ++i)); do
    ip netns add "$hosts_name-$i" &&
      ip -n "$head" link add "port$i" type veth peer name eth0 netns "$hosts_name-$i" &&
      ip -n "$head" link set "port$i" master eth0 up &&
      ip -n "$hosts_name-$i" addr add "$1.$i/24" dev eth0 &&
      ip -n "$hosts_name-$i" link set eth0 up && ip -n "$hosts_name-$i" link set lo up || return 1
  done
}
remove_hosts() {
  for ((i = 0; i <= hosts_count; ++i)); do ip netns delete "$hosts_name-$i" 2>/dev/null; done
}

# on <host> <command>...: becomes the command there, under the host's name n<host>.
on() {
  local host=$1
  shift
  exec nsenter --net="/run/netns/$hosts_name-$host" unshare --pid --fork --kill-child --mount-proc --uts \
    sh -c 'hostname "$0" && exec "$@"' "n$host" "$@"
}

# left_on_hosts [pattern]: lists the processes that still run on the hosts except host 0, a moment later, and
# do not match the pattern.
left_on_hosts() {
  local left i host process words
  for ((i = 0; i < 50; ++i)); do
    left=
    for ((host = 1; host <= hosts_count; ++host)); do
      for process in $(ip netns pids "$hosts_name-$host"); do
        words=$(tr '\0' ' ' 2>/dev/null <"/proc/$process/cmdline")
        [[ -z $words || -n ${1-} && $words =~ $1 ]] || left+=" $words(n$host)"
      done
    done
    [[ -z $left ]] && return
    sleep 0.1
  done
  echo "$left"
}
