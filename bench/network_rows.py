"""Programs of OpenMP between hosts: network namespaces, with a rank on each."""

import shlex

import rows
from alternate import Candidate
from hosts import by_mpi, by_musubi
from table import Row, Value


def program(suite, key, title, name, arguments, bound):
    """By two hosts, over the driver tcp, and over MPI by tcp. `bound` is that against MPI; without it the peer
    is libgomp on one host."""
    ours, mpi = "musubi, 2 hosts", "Open MPI, 2 hosts"
    plain = f"{shlex.quote(str(suite.program(name)))} {arguments}"
    read = rows.program_times("time")
    candidates = [Candidate(rows.LIBGOMP, f"{rows.PEER_SETTINGS} {plain}", read),
                  Candidate(ours, by_musubi(suite, 2, "", name, arguments), read)]
    has_mpi = suite.has_mpi(f"{name}_by_mpi")
    if has_mpi:
        candidates.append(Candidate(mpi, by_mpi(suite, 2, f"{name}_by_mpi", arguments), read))
    return rows.Group(f"network_{key}", candidates, [
        Row(f"network_{key}", f"{title}, 2 hosts by tcp", "speed", "s", Value(ours, "time"),
            Value(mpi if has_mpi else rows.LIBGOMP, "time"), suite.bound(bound if has_mpi else ""),
            Value(rows.LIBGOMP, "time") if has_mpi else None)], [suite.program(name)], needs_hosts=True)


def groups(suite):
    size = suite.size
    return [
        program(suite, "ep_a", "EP class A", "ep", size("A"), ">= 0.97"),
        program(suite, "heat", "heat on 4096 x 4096", "heat", size("4096 200", "256 20"), ">= 0.9"),
        program(suite, "daxpy", "daxpy on 4M doubles", "daxpy", size("4194304 200", "100000 20"), ">= 0.95"),
        program(suite, "cg_a", "CG class A", "cg", size("A"), ">= 0.6"),
        program(suite, "cg_b", "CG class B", "cg", size("B"), ">= 0.75"),
        program(suite, "transpose", "transpose of 256 x 256 x 128", "transpose",
                size("256 256 128 5", "32 32 32 2"), ">= 0.6"),
    ]
