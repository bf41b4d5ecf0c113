"""Rows between hosts, network namespaces with a rank on each: basic costs over tcp compared with bare
sockets and MPI, and OpenMP programs."""

import shlex

import rows
from alternate import Candidate
from hosts import MPICH, OPEN_MPI, TCP, by_mpi, by_musubi
from programs import PROGRAMS
from table import Row, Value

SOCKETS = "bare sockets"
STATES = ("asleep", "awake")


def raw(what, state):
    """The row of network_costs."""
    return f"sockets alone: {what}, target {state}"


def gets(suite):
    """By the fabric and by bare sockets, in one run."""
    kinds = {"get": ("get of 8 bytes", "8 bytes", "<= 1.1"),
             "gets": ("64 gets of 8 bytes at once, each", "64 of 8 bytes, each", ""),
             "get_block": ("get of 32 KiB", "32 KiB", "")}
    names = {(key, state): (f"get: {what}, target {state}", raw(what, state))
             for key, (_, what, _) in kinds.items() for state in STATES}
    command = by_musubi(suite, 2, "--plain", "network_costs", f"--csv {suite.size(4000, 50)}")
    both = f"{TCP} and {SOCKETS}"
    return rows.Group("network_gets", [
        Candidate(both, command, rows.cost_rows(*(name for pair in names.values() for name in pair)))], [
        suite.cost(f"network_{key}_{state}", f"{measure}, target {state}", (both, names[key, state][0]),
                   (both, names[key, state][1]), bound)
        for key, (measure, _, bound) in kinds.items() for state in STATES],
        [suite.program("network_costs")], needs_hosts=True)


def sums(read, made):
    """As `read`, with additional sums: by name, how many times each value counts."""
    return rows.derived(read, lambda values: {
        name: sum(times * values[part] for part, times in parts.items()) for name, parts in made.items()})


def all_of(*reads):
    """The values of each of them."""
    def read(output, seconds):
        values = {}
        for each in reads:
            found, problem = each(output, seconds)
            if problem:
                return {}, problem
            values |= found
        return values, ""
    return read


def sockets_alone(suite):
    """A command that prints the rows of bare sockets, and the function that reads them."""
    command = by_musubi(suite, 2, "--plain", "network_costs", f"--csv --only sockets {suite.size(4000, 50)}")
    return command, rows.cost_rows(*(raw(what, state) for what in ("8 bytes", "32 KiB") for state in STATES))


def faults(suite):
    """Compared with the minimum of a fault: the bytes there and back, and its cost on one host."""
    arguments = f"--csv --only cached_faults {suite.size(5000, 256)}"
    options = f"-n 2 {rows.PROTOCOL} {rows.FAULT_OPTIONS}"
    read_faults = rows.fault_rows([rows.READ_FAULT], [rows.WRITE_FAULT, rows.WRITE_MISS])
    command, read = sockets_alone(suite)
    one_host = suite.rank_command(options, "costs", arguments)
    parts = f"{SOCKETS} + 1.2 x the fault on one host"
    made = {state: {raw("32 KiB", state): 1, rows.READ_FAULT: 1.2} for state in STATES}
    return rows.Group("network_faults", [
        Candidate(TCP, by_musubi(suite, 2, rows.FAULT_OPTIONS, "costs", arguments), read_faults),
        Candidate(parts, f"sh -c {shlex.quote(f'{command} && {one_host}')}",
                  sums(all_of(read, read_faults), made))], [
        suite.cost("network_read_fault", "read fault with fetch of a block, 2 hosts", (TCP, rows.READ_FAULT),
                   (parts, "awake"), "<= 1", (parts, "asleep")),
        suite.cost("network_write_miss", "write fault with fetch and twin, against a read fault",
                   (TCP, rows.WRITE_MISS), (TCP, rows.READ_FAULT))],
        [suite.program("costs"), suite.program("network_costs")], needs_hosts=True)


def barrier(suite, hosts):
    """One rank on each host. The peer of two hosts is MPICH, whose processes spin; of more hosts, or
    without MPICH, it is Open MPI; without any MPI it is the barrier on one host."""
    ours, row = f"{TCP}, {hosts} hosts", "omp barrier"
    measured = f"barrier {suite.size(400 // hosts, 10)}"
    candidates = [Candidate(ours, by_musubi(suite, hosts, "", "omp_costs", measured), rows.cost_rows(row))]
    peers = []

    def add_mpi(name, program, carrier, bound):
        command = by_mpi(suite, hosts, program, f"{suite.size(1000 // hosts, 10)} barrier", carrier)
        candidates.append(Candidate(name, command, rows.cost_rows("MPI: barrier")))
        peers.append((name, "MPI: barrier", bound))
    if hosts == 2 and suite.has_mpi("costs_by_mpich", "MPICH", "mpich and libmpich-dev"):
        add_mpi(MPICH, "costs_by_mpich", "mpich", "<= 1")
    if suite.has_mpi("costs_by_mpi"):
        add_mpi(OPEN_MPI, "costs_by_mpi", "mpi", "" if hosts == 2 else "<= 0.5")
    if not peers:
        one_host = f"musubi -n {hosts}, protocol"
        command = suite.rank_command(f"-n {hosts} {rows.PROTOCOL}", "omp_costs", measured)
        candidates.append(Candidate(one_host, command, rows.cost_rows(row)))
        peers.append((one_host, row, ""))
    (name, value, bound), *others = peers
    return rows.Group(f"network_barrier_n{hosts}", candidates, [
        suite.cost(f"network_barrier_n{hosts}", f"empty omp barrier, {hosts} hosts", (ours, row),
                   (name, value), bound, others[0][:2] if others else None)],
        [suite.program("omp_costs")], needs_hosts=True)


def critical(suite):
    """Compared with the messages that a handover needs at least: the lock's request, the grant to the
    waiting thread, and a block with the data that the lock guards."""
    handed = "omp critical, handed to the other thread"
    command, read = sockets_alone(suite)
    made = {state: {raw("8 bytes", state): 1.5, raw("32 KiB", state): 1} for state in STATES}
    parts = f"{SOCKETS}: 3 ways and a fetch"
    return rows.Group("network_critical", [
        Candidate(TCP, by_musubi(suite, 2, "", "omp_costs", f"critical {suite.size(2000, 100)}"),
                  rows.cost_rows(handed)),
        Candidate(parts, command, sums(read, made))], [
        suite.cost("network_critical", "omp critical + increment, handed over, 2 hosts", (TCP, handed),
                   (parts, "awake"), "<= 1", (parts, "asleep"))],
        [suite.program("omp_costs"), suite.program("network_costs")], needs_hosts=True)


def program(suite, key, bound="", against_mpi=False):
    """On two hosts, against libgomp on one host; with `against_mpi` against the same kernel over MPI by
    tcp, if it is installed, with libgomp as a second peer."""
    ours, mpi = "musubi, 2 hosts", "Open MPI, 2 hosts"
    title, name, arguments = PROGRAMS[key].title, PROGRAMS[key].name, suite.arguments(key)
    plain = f"{shlex.quote(str(suite.program(name)))} {arguments}"
    read = rows.program_times("time")
    candidates = [Candidate(rows.LIBGOMP, f"{rows.PEER_SETTINGS} {plain}", read),
                  Candidate(ours, by_musubi(suite, 2, "", name, arguments), read)]
    has_mpi = against_mpi and suite.has_mpi(f"{name}_by_mpi")
    if has_mpi:
        candidates.append(Candidate(mpi, by_mpi(suite, 2, f"{name}_by_mpi", arguments), read))
    return rows.Group(f"network_{key}", candidates, [
        Row(f"network_{key}", f"{title}, 2 hosts by tcp", "speed", "s", Value(ours, "time"),
            Value(mpi if has_mpi else rows.LIBGOMP, "time"),
            suite.bound(bound if has_mpi == against_mpi else ""),
            Value(rows.LIBGOMP, "time") if has_mpi else None)], [suite.program(name)], needs_hosts=True)


def groups(suite):
    def over_mpi(key, bound):
        return program(suite, key, bound, against_mpi=True)
    return [
        gets(suite), faults(suite), *(barrier(suite, hosts) for hosts in (2, 4, 8)), critical(suite),
        over_mpi("ep_a", ">= 0.97"), over_mpi("heat", ">= 0.9"), over_mpi("daxpy", ">= 0.95"),
        over_mpi("cg_a", ">= 0.6"), over_mpi("cg_b", ">= 0.75"), over_mpi("transpose", ">= 0.6"),
        *(program(suite, key) for key in ("mg_a", "ft_a", "is_a", "adi_a")),
        program(suite, "mandelbrot", ">= 0.95"),
    ]
