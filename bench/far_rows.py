"""Rows of programs at -n 2 whose ranks are made far (fabric_delay), compared with libgomp. MPI has no such
setting: for the same kernel over MPI, the cost of the longer round trips is added to its time."""

import shlex

import rows
from alternate import Candidate
from programs import PROGRAMS
from table import Row, Value

MPI = "Open MPI and latencies"
MPI_ROUND_TRIPS_US = (20, 100)


def with_latencies(messages):
    """The time of MPI for each length of a round trip: the program waits for `messages` messages one after
    the other, and each takes half a round trip longer."""
    return rows.derived(rows.program_times("time"), lambda values: {
        f"time, {us} us": values["time"] + messages * us / 2 * 1e-6 for us in MPI_ROUND_TRIPS_US})


def far(suite, key, bound, mpi_messages=0, mpi_bound=""):
    """For each round trip against libgomp; `bound` is that of 20 us. With `messages`, also against the
    same kernel over Open MPI's shared memory, if Open MPI is installed."""
    title, name, arguments = PROGRAMS[key].title, PROGRAMS[key].name, suite.arguments(key)
    program = shlex.quote(str(suite.program(name)))
    read = rows.program_times("time")
    candidates = [Candidate(rows.LIBGOMP, f"{rows.PEER_SETTINGS} {program} {arguments}", read)]
    against_mpi = bool(mpi_messages) and suite.has_mpi(f"{name}_by_mpi")
    if against_mpi:
        by_mpi = shlex.quote(str(suite.program(f"{name}_by_mpi")))
        candidates.append(Candidate(MPI, f"{rows.MPIRUN} -np 2 {by_mpi} {arguments}",
                                    with_latencies(mpi_messages)))
    made = []
    for us in (5, 20, 100):
        ours = f"{rows.TWO_RANKS}, {us} us"
        candidates.append(Candidate(
            ours, suite.rank_command(f"-n 2 --set fabric_delay={us}us", name, arguments), read))
        made.append(Row(f"far_{key}_{us}", f"{title}, round trips of {us} us", "speed", "s",
                        Value(ours, "time"), Value(rows.LIBGOMP, "time"),
                        suite.bound(bound if us == 20 else "")))
        if against_mpi and us in MPI_ROUND_TRIPS_US:
            made.append(Row(f"delayed_{key}_{us}", f"{title}, round trips {us} us longer", "speed", "s",
                            Value(ours, "time"), Value(MPI, f"time, {us} us"), suite.bound(mpi_bound),
                            Value(rows.LIBGOMP, "time")))
    return rows.Group(f"far_{key}", candidates, made, [suite.program(name)])


def groups(suite):
    """Messages that MPI waits for in bench/peers: a reduction and a barrier of two processes take one, and
    so does an exchange in which both send at once. EP: three sums. heat: two a step, for one process sends
    its row once the other row has arrived. daxpy: a barrier in each region but the first. CG A: 15 times
    25 steps of a gather and two sums, and the work between them. transpose: an exchange and a barrier in
    each turn but the first."""
    size = suite.size
    steps = size(200, 20)
    return [
        far(suite, "ep_a", ">= 0.97", 3, ">= 0.97"),
        far(suite, "heat", ">= 0.9", 2 * steps, ">= 0.9"),
        far(suite, "daxpy", ">= 0.95", steps - 1, ">= 0.95"),
        far(suite, "cg_a", ">= 0.5", 1200, ">= 0.6"),
        far(suite, "transpose", "", 2 * (size(5, 2) - 1), ">= 0.6"),
        far(suite, "ft_a", ">= 0.5"), far(suite, "mg_a", ">= 0.5"), far(suite, "adi_a", ">= 0.5"),
    ]
