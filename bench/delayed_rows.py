"""Rows of programs over a network that is slower than this machine's: round trips are made longer for Musubi,
by its setting fabric_delay, and added up for MPI, which has no such setting."""

import shlex

import rows
from alternate import Candidate
from table import Row, Value

ROUND_TRIPS_US = (20, 100)


def with_latencies(read, messages):
    """As `read`, with a time for each length of a round trip: `messages` is how many, one after the other,
    the program waits for, and each takes half a round trip longer."""
    def read_and_add(output, seconds):
        values, problem = read(output, seconds)
        if problem:
            return {}, problem
        return {f"time, {us} us": values["time"] + messages * us / 2 * 1e-6 for us in ROUND_TRIPS_US}, ""
    return read_and_add


def program(suite, key, title, name, arguments, messages, bound):
    """-n 2 by each delay, against the same kernel over Open MPI's shared memory with what the messages would
    take longer; libgomp beside them."""
    mpi = "Open MPI and latencies"
    plain = f"{shlex.quote(str(suite.program(name)))} {arguments}"
    read = rows.program_times("time")
    by_mpi = f"{rows.MPIRUN} -np 2 {shlex.quote(str(suite.program(f'{name}_by_mpi')))} {arguments}"
    candidates = [Candidate(rows.LIBGOMP, f"{rows.PEER_SETTINGS} {plain}", read),
                  Candidate(mpi, by_mpi, with_latencies(read, messages))]
    made = []
    for us in ROUND_TRIPS_US:
        ours = f"{rows.TWO_RANKS}, {us} us"
        candidates.append(Candidate(
            ours, suite.rank_command(f"-n 2 --set fabric_delay={us}us", name, arguments), read))
        made.append(Row(f"delayed_{key}_{us}", f"{title}, round trips {us} us longer", "speed", "s",
                        Value(ours, "time"), Value(mpi, f"time, {us} us"), suite.bound(bound),
                        Value(rows.LIBGOMP, "time")))
    return rows.Group(f"delayed_{key}", candidates, made, [suite.program(name)])


def groups(suite):
    """Messages that MPI waits for, by bench/peers: a reduction and a barrier of two processes take one, as
    does what both send each other at once. EP: three sums. heat: two a step, for one process sends its row
    when that of the other has come. daxpy: a barrier in each region but the first. CG A: 15 times 25 steps of
    a gather and two sums, and what lies between. transpose: an exchange and a barrier in each turn but the
    first."""
    if not suite.has_mpi("cg_by_mpi"):
        return []
    size = suite.size
    steps = size(200, 20)
    return [
        program(suite, "ep_a", "EP class A", "ep", size("A"), 3, ">= 0.97"),
        program(suite, "heat", "heat on 4096 x 4096", "heat", size("4096 200", "256 20"), 2 * steps,
                ">= 0.9"),
        program(suite, "daxpy", "daxpy on 4M doubles", "daxpy", size("4194304 200", "100000 20"),
                steps - 1, ">= 0.95"),
        program(suite, "cg_a", "CG class A", "cg", size("A"), 1200, ">= 0.6"),
        program(suite, "transpose", "transpose of 256 x 256 x 128", "transpose",
                size("256 256 128 5", "32 32 32 2"), 2 * (size(5, 2) - 1), ">= 0.6"),
    ]
