"""Rows of the compiler's modes: the same program by pages alone (--musubi=off) and by each mode of musubi-cc,
over hosts and with ranks made far. `bench/run --modes` writes them as a section of docs/results.md."""

import dataclasses
import re
import statistics

import alternate
import rows
from alternate import Candidate
from hosts import by_musubi
from table import Row, Value

PAGES, HINT = "pages", "hint"
# The suffix of the program's file by column. home_only: udsm, and the targets of stores are memory of this
# policy, in programs that allocate by musubi.h.
HOME_ONLY = "home_only"
MODES = {PAGES: "off", HINT: "hint", "adsm": "adsm", "udsm": "udsm", HOME_ONLY: HOME_ONLY}
# The sum over all ranks, which `--stats` prints last.
COUNTED = {"trips": ("remote_operations", "messages"), "bytes": ("remote_bytes",),
           "faults": ("fault_signals",)}
NETWORKS = {"tcp": "", "20": "20us", "100": "100us"}  # by key: none, or fabric_delay
RANKS = (2, 4)
MARKS = ("<!-- modes -->", "<!-- end of modes -->")
NEVER_SLOWER, FASTER = ">= 0.97", ">= 1.3"


@dataclasses.dataclass(frozen=True)
class Program:
    title: str
    name: str
    full: str
    quick: str
    values: tuple = ("time",)
    gains: bool = False  # transposes, scatters and arrays that are overwritten
    spmd: bool = False  # allocates by musubi.h


PROGRAMS = {
    "six_step": Program("FFT by six steps, 1024 x 1024", "six_step", "1024 3", "64 1", gains=True),
    "transpose": Program("transpose of 256 x 128 x 64", "transpose", "256 128 64 4", "32 32 32 2",
                         gains=True),
    "scatter": Program("radix sort of 2M keys, key by key", "radix_sort", "2097152 scatter 1",
                       "20000 scatter 1", gains=True),
    "buckets": Program("radix sort of 2M keys, by buckets", "radix_sort", "2097152 buckets 1",
                       "20000 buckets 1", gains=True),
    "keys": Program("radix sort of 1M new keys each turn", "key_scatter", "1048576 4", "20000 2", gains=True,
                    spmd=True),
    "turned": Program("matrix of 2048 rows turned", "turned", "2048 4", "100 3", gains=True, spmd=True),
    "overwritten": Program("overwritten array, 8 MiB a rank", "overwritten", "8192 8", "128 3", gains=True),
    "lu": Program("blocked LU, 1024", "blocked_lu", "32 32", "8 16"),
    "tree": Program("body tree, 20,000 bodies", "body_tree", "20000 3", "300 2"),
    "rows": Program("stencil on rows, 1024", "row_stencil", "1024 40", "128 4"),
    "heat": Program("heat, 1024 x 1024", "heat", "1024 60", "128 4"),
    "adi": Program("BT-like, class W", "adi", "W", "S"),
    "cg": Program("CG, class W", "cg", "W", "S"),
    "ft": Program("FT, class W", "ft", "W", "S"),
    "is": Program("IS, class W", "is", "W", "S"),
    "mg": Program("MG, class W", "mg", "W", "S"),
    "daxpy": Program("daxpy, 1M doubles", "daxpy", "1048576 60", "100000 5"),
    "stream": Program("stream, 96 MiB, the neighbour's vector", "stream", "96 4", "8 2",
                      ("moved",)),
    "mesh": Program("mesh of 12^3 nodes, locks", "mesh", "12 1", "6 1", ("locks",)),
}


def times_and_counts(name):
    """`time`, and the sums of the counters over all ranks."""
    read_time = rows.program_times(name)

    def read(output, seconds):
        values, problem = read_time(output, seconds)
        if problem:
            return {}, problem
        last = dict(re.findall(r"^\s*(\w+)(?:\s+\d+)+?\s+(\d+)$", output, re.MULTILINE))
        counts = {key: sum(int(last.get(counter, 0)) for counter in counters)
                  for key, counters in COUNTED.items()}
        return {"time": values[name]} | counts, ""
    return read


def command(suite, path, ranks, delay, arguments):
    """A rank on each of so many hosts, or far ranks of this host."""
    if not delay:
        return by_musubi(suite, ranks, "--stats", path, arguments)
    options = f"-n {ranks} --stats --set coherence=protocol --set fabric_delay={delay}"
    return f"OMP_NUM_THREADS={ranks} {suite.rank_command(options, path, arguments)}"


def group(suite, key, ranks, network):
    program, delay = PROGRAMS[key], NETWORKS[network]
    columns = [column for column in MODES if column != HOME_ONLY or program.spmd]
    arguments = program.quick if suite.quick else program.full
    where = f"round trips of {network} us" if delay else "hosts by tcp"
    candidates = [
        Candidate(column, command(suite, f"modes/{program.name}_{MODES[column]}", ranks, delay,
                                  f"{arguments} {HOME_ONLY}" if column == HOME_ONLY else arguments),
                  times_and_counts(program.values[0]))
        for column in columns]
    bound = FASTER if program.gains and delay else NEVER_SLOWER
    name = f"modes_{key}_{ranks}_{network}"
    return rows.Group(name, candidates, [
        Row(name, f"{program.title}, {ranks} ranks, {where}: hint", "speed", "s", Value(HINT, "time"),
            Value(PAGES, "time"), suite.bound(bound), Value("udsm", "time"))],
        [suite.program(f"modes/{program.name}_{MODES[column]}") for column in columns], needs_hosts=not delay)


def groups(suite):
    """None if the programs are not there: they need musubi-cc and an OpenMP library for clang."""
    if not suite.program("modes/six_step_hint").exists():
        print("rows of the compiler's modes are left out: bench/modes is not built (clang-19 and libomp-dev)")
        return []
    return [group(suite, key, ranks, network)
            for key in PROGRAMS for ranks in RANKS for network in NETWORKS]


def median(candidate, value):
    samples = candidate.samples(value) if candidate else []
    return statistics.median(samples) if samples else None


def cell(candidate):
    """Time, trips, MB and faults."""
    if candidate is None:
        return "-"
    if candidate.failure:
        return candidate.failure.replace("|", "/")
    return (f"{1000 * median(candidate, 'time'):#.3g} ms, {median(candidate, 'trips'):.0f}, "
            f"{median(candidate, 'bytes') / 1e6:.1f}, {median(candidate, 'faults'):.0f}")


def winner(by_name):
    """The fastest column, unless pages come within 3 % of it."""
    times = {name: median(candidate, "time") for name, candidate in by_name.items()}
    times = {name: time for name, time in times.items() if time}
    best = min(times, key=times.get, default="-")
    return PAGES if PAGES in times and times[PAGES] < 1.03 * times[best] else best


def line(measured):
    key, ranks, network = measured.key.removeprefix("modes_").rsplit("_", 2)
    by_name = {candidate.name: candidate for candidate in measured.candidates}
    pages, hint = (median(by_name[name], "time") for name in (PAGES, HINT))
    runs = [run for candidate in measured.candidates for run in candidate.runs if run.counted]
    cells = [PROGRAMS[key].title, ranks, "tcp" if network == "tcp" else f"{network} us",
             *(cell(by_name.get(column)) for column in MODES),
             f"{pages / hint:.2f}" if pages and hint else "-", winner(by_name),
             f"{alternate.disturbance(runs):.2f}"]
    return "| " + " | ".join(cells) + " |"


def section(measured, notes, told, rounds):
    """Lines of Markdown."""
    heading = ["program", "ranks", "network", *MODES, "pages / hint", "wins", "load"]
    return [
        "## Modes of the compiler", "",
        "`bench/run --modes` writes this section. Each program is compiled by `musubi-cc` once for pages",
        "alone (`--musubi=off`) and once for each [mode](guide/compiler.md#which-mode). Cells: time, trips",
        "(batches of remote operations, and messages), MB moved, faults that stopped a thread; sums over",
        f"all ranks, medians of {rounds} rounds after one that warms up. `tcp`: a rank on each of so many",
        "network namespaces. `20 us`, `100 us`: ranks of one host whose round trips take so much longer",
        "(`fabric_delay`). `wins`: the fastest column; pages, where it gains less than 3 %: there the",
        "compiler gains nothing. `load`: cores that other processes used; above 0.15 the times tell little,",
        "and the counts still hold. Four ranks share the cores. `home_only`: udsm, and the target of the",
        "stores is memory of this policy; OpenMP programs have none.",
        "", "| " + " | ".join(heading) + " |", "|---" * len(heading) + "|",
        *(line(group) for group in measured), "",
        "```", *[note for note in notes if note.split(None, 1)[0] in told], "```"]


def kept_section(path):
    """The section of an earlier run, with its marks; an empty text if there is none."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    _, mark, rest = text.partition(MARKS[0])
    return f"{MARKS[0]}{rest.partition(MARKS[1])[0]}{MARKS[1]}\n" if mark else ""


def write_section(path, lines):
    """Replaces the section of the page, or appends it."""
    text = path.read_text(encoding="utf-8")
    old = kept_section(path)
    new = "\n".join([MARKS[0], *lines, MARKS[1], ""])
    path.write_text(text.replace(old, new) if old else f"{text}\n{new}", encoding="utf-8")


def write(root, measured, notes, told, rounds):
    """Result: the programs of which a command failed."""
    write_section(root / "docs" / "results.md", section(measured, notes, told, rounds))
    return [f"{group.key}, {candidate.name}: {candidate.failure}"
            for group in measured for candidate in group.candidates if candidate.failure]
