"""The page docs/results.md, and the table on the first screen of README.md: every program by libgomp and by
Musubi on one host, by Musubi and by MPI over two hosts."""

import dataclasses
import shlex
import statistics

import alternate
import marks
import modes
import rows
from alternate import Candidate
from hosts import by_mpi, by_musubi
from programs import PROGRAMS

ONE_PROCESS, ONE_HOST, TWO_HOSTS, MPI = "libgomp, 1 host", "Musubi, 1 host", "Musubi, 2 hosts", "MPI, 2 hosts"
COLUMNS = [ONE_PROCESS, ONE_HOST, TWO_HOSTS, MPI]
MARKS = ("<!-- results -->", "<!-- end of results -->")
# Programs of bench/peers with the same kernel and arguments.
BY_MPI = ("heat", "ep", "cg", "daxpy", "transpose")
# Lines of machine.fingerprint() that the page repeats.
TOLD = ("date", "commit", "processor", "cores", "memory", "kernel", "runtime", "programs", "load")


@dataclasses.dataclass(frozen=True)
class Line:
    key: str  # of PROGRAMS
    title: str
    reason: str  # for the speed of two hosts
    in_readme: bool = False


LINES = [
    Line("heat", "heat, 4096 x 4096, 200 steps", "two rows cross the network in each step", in_readme=True),
    Line("ep_a", "NAS EP, class A", "three sums cross the network", in_readme=True),
    Line("cg_a", "NAS CG, class A",
         "each step gathers a vector of which every rank writes half", in_readme=True),
    Line("cg_b", "NAS CG, class B", "as class A, with more computation for each byte", in_readme=True),
    Line("mg_a", "NAS MG, class A", "coarse grids have less work than a barrier takes", in_readme=True),
    Line("ft_a", "NAS FT, class A", "half of all data crosses the network in each transpose", in_readme=True),
    Line("is_a", "NAS IS, class A", "keys go to the buckets of the other rank"),
    Line("adi_a", "BT-like, class A", "sweeps along the divided direction read planes of the other rank"),
    Line("penta", "SP-like, class S, inner loops",
         "a region for every inner loop: a barrier after microseconds of work"),
    Line("daxpy", "daxpy, 4M doubles", "each rank works on its own half; only barriers cross the network"),
    Line("stream", "stream, 1 GiB", "`moved` reads the half that the other rank wrote"),
    Line("transpose", "transpose, 256 x 256 x 128", "half of the array crosses the network in each turn"),
    Line("mandelbrot", "Mandelbrot, dynamic schedule", "a request for each batch of chunks"),
    Line("graph", "graph of scale 14", "single words all over the memory: a fault for each"),
    Line("mesh", "mesh of 32^3 nodes", "an atomic operation, or a lock, of the other rank for each edge"),
    Line("queens", "task queue, 14 queens", "one lock, handed over for each task", in_readme=True),
]


def groups(suite):
    """A group for each program, with a candidate for each column that can be run; no rows of the table."""
    made = []
    for line in LINES:
        program, arguments = PROGRAMS[line.key], suite.arguments(line.key)
        path = suite.program(program.name)
        plain = f"{shlex.quote(str(path))} {arguments}"
        read = rows.program_times(*program.values)
        candidates = [
            Candidate(ONE_PROCESS, f"{rows.PEER_SETTINGS} {plain}", read),
            Candidate(ONE_HOST, f"{rows.PEER_SETTINGS} {suite.rank_command('-n 2', program.name, arguments)}",
                      read),
            Candidate(TWO_HOSTS, by_musubi(suite, 2, "", program.name, arguments), read)]
        by_peer = f"{program.name}_by_mpi"
        if program.name in BY_MPI and suite.program(by_peer).exists():
            candidates.append(Candidate(MPI, by_mpi(suite, 2, by_peer, arguments), read))
        made.append(rows.Group(line.key, candidates, [], [path], needs_hosts=True))
    return made


def median(candidate, value):
    """Seconds with three digits, the reason of a failure, or a dash where there is no such program."""
    if candidate is None:
        return "-"
    samples = candidate.samples(value)
    return f"{statistics.median(samples):#.3g} s".replace(". s", " s") if samples else candidate.failure


def ratio(by_name, value):
    """The time of libgomp on one host by that of Musubi over two, which has as many cores."""
    peer, ours = (by_name[name].samples(value) for name in (ONE_PROCESS, TWO_HOSTS))
    return f"{statistics.median(peer) / statistics.median(ours):.2f}" if peer and ours else "-"


def table(measured, readme):
    """Lines of Markdown. For the README a selection without reasons."""
    heading = ["program", *COLUMNS, *([] if readme else ["speed", "cores of other processes", "reason"])]
    lines = ["| " + " | ".join(heading) + " |", "|---" * len(heading) + "|"]
    by_key = {line.key: line for line in LINES}
    for group in measured:
        line, values = by_key[group.key], PROGRAMS[group.key].values
        if readme and not line.in_readme:
            continue
        by_name = {candidate.name: candidate for candidate in group.candidates}
        runs = [run for candidate in group.candidates for run in candidate.runs if run.counted]
        for value in values:
            title = f"{line.title}, {value}" if len(values) > 1 else line.title
            cells = [title, *(median(by_name.get(name), value) for name in COLUMNS)]
            if not readme:
                cells += [ratio(by_name, value), f"{alternate.disturbance(runs):.2f}", line.reason]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def page(measured, notes, rounds):
    told = [line for line in notes if line.split(None, 1)[0] in TOLD]
    return "\n".join([
        "# Results", "",
        "`bench/run --page` writes this page and the table of the [README](../README.md).", "",
        f"Medians of {rounds} rounds, after one that warms up. The commands of a row run alternately, and",
        "every run verifies its result. On one host two threads run on two cores. Two hosts are two network",
        "namespaces of this machine, joined by a pair of veth devices: each has one rank with one thread,",
        "and the ranks use TCP. So both sides have the same cores, and the difference is the cost of two",
        "memories. `speed` is the time of libgomp on one host divided by that of Musubi over two; below 1,",
        "two hosts are slower. A row in which other processes used more than",
        f"{alternate.QUIET_CORES} cores tells little.", "",
        *table(measured, readme=False), "",
        "## Machine", "", "```", *told, "```", "",
        "[benchmarks.md](reference/benchmarks.md) explains the rows of `bench/run`, with floors.", ""])


def write(root, measured, notes, rounds):
    """Writes both below `root`. Result: the programs of which a command failed."""
    path = root / "docs" / "results.md"
    kept = modes.kept_section(path)
    path.write_text(page(measured, notes, rounds) + (f"\n{kept}" if kept else ""), encoding="utf-8")
    marks.replace(root / "README.md", MARKS, table(measured, readme=True))
    return [f"{group.key}, {candidate.name}: {candidate.failure}"
            for group in measured for candidate in group.candidates if candidate.failure]
