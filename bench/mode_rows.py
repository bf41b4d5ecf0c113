"""Rows of programs by musubi-cc in its modes, against pages alone (mode off): between hosts, and between
ranks of one host that are made far (fabric_delay, which is for such ranks only). `bench/run --modes` makes
the table of docs/results.md from them, with trips, bytes and faults."""

import dataclasses
import re
import shlex

import alternate
import rows
from alternate import Candidate
from hosts import by_musubi
from table import Row, Value

PAGES, HINT = "pages", "hint"
MODES = {PAGES: "off", HINT: "hint", "adsm": "adsm", "udsm": "udsm"}  # columns, and --musubi=
HOME_ONLY = "home_only"  # a column of programs of musubi.h that can choose it; mode udsm
MARKS = ("<!-- modes -->", "<!-- end of modes -->")
NO_GAIN = 1.03  # less is no difference
COUNTERS = {"trips": ("remote_operations", "messages"), "bytes": ("remote_bytes",),
            "faults": ("fault_signals",)}


@dataclasses.dataclass(frozen=True)
class Program:
    key: str
    title: str
    name: str  # of the file
    full: str  # arguments
    quick: str
    value: str = "time"
    gains: bool = False  # hints must make it faster where trips are long
    can_be_home_only: bool = False  # by one more argument

    def columns(self):
        return [*MODES, HOME_ONLY] if self.can_be_home_only else [*MODES]


PROGRAMS = [
    Program("transpose", "transpose of a matrix, 1024 rows", "turned", "1024 6", "64 2", gains=True),
    Program("scatter", "radix sort, keys stored one by one", "sort", "1048576 8 scatter", "5000 8 scatter",
            gains=True),
    Program("buckets", "radix sort, runs of keys copied", "sort", "2097152 6 blocks", "5000 6 blocks",
            gains=True),
    Program("overwrite", "array that another rank overwrites", "overwrite", "4096 6", "64 2", gains=True),
    Program("home_sort", "radix sort, memory of musubi.h", "homes", "sort 524288 8", "sort 5000 4",
            can_be_home_only=True),
    Program("home_transpose", "transpose, memory of musubi.h", "homes", "transpose 512 8", "transpose 64 4",
            can_be_home_only=True),
    Program("lu", "LU by blocks, 512 rows", "lu", "512 32", "64 16"),
    Program("stencil", "stencil of 5 points, 1024 rows", "stencil", "1024 40", "64 5"),
    Program("box", "transpose of a box, 64 x 64 x 64", "transpose", "64 64 64 4", "16 16 16 2"),
    Program("ft", "NAS FT, class S", "ft", "S", "S"),
    Program("cg", "NAS CG, class S", "cg", "S", "S"),
    Program("mg", "NAS MG, class S", "mg", "S", "S"),
    Program("is", "NAS IS, class W", "is", "W", "S"),
    Program("adi", "BT-like, class S", "adi", "S", "S"),
    Program("daxpy", "daxpy on 1M doubles", "daxpy", "1048576 40", "10000 5"),
    Program("stream", "stream, neighbour's part read", "stream", "48 4", "16 4", value="moved"),
    Program("mesh", "mesh of 10^3 nodes, atomics", "mesh", "10 2", "6 2", value="atomic"),
]


@dataclasses.dataclass(frozen=True)
class Place:
    key: str
    title: str
    ranks: int
    delay_us: int  # 0: hosts, by tcp


PLACES = [Place(f"{ranks}_{us}", f"{ranks} ranks, {us} us" if us else f"{ranks} hosts", ranks, us)
          for ranks in (2, 4) for us in (0, 20, 100)]


def counted(read):
    """As `read`, plus the sums of counters over all ranks, which --stats prints last in their lines."""
    def read_and_count(output, seconds):
        values, problem = read(output, seconds)
        if problem:
            return {}, problem
        for name, counters in COUNTERS.items():
            lines = [re.search(rf"^\s*{counter}\s.*?(\d+)\s*$", output, re.MULTILINE)
                     for counter in counters]
            # Lines of zeros are left out of the output.
            values[name] = float(sum(int(line.group(1)) for line in lines if line))
        return values, ""
    return read_and_count


def command(suite, place, column, program):
    mode = MODES.get(column, "udsm")
    path = suite.build / "bench" / "compiled" / mode / program.name
    arguments = program.quick if suite.quick else program.full
    if column == HOME_ONLY:
        arguments += " home_only"
    if not place.delay_us:
        return by_musubi(suite, place.ranks, "--stats", f"compiled/{mode}/{program.name}", arguments)
    return (f"{suite.musubi} run -n {place.ranks} --stats --set fabric_delay={place.delay_us}us "
            f"{shlex.quote(str(path))} {arguments}")


def bound(program, column, place):
    """Hints never cost more than 3 %, and hide trips."""
    if column != HINT:
        return ""
    return ">= 1.3" if program.gains and place.delay_us else ">= 0.97"


def group(suite, program, place):
    key = f"modes_{program.key}_{place.key}"
    read = counted(rows.program_times(program.value))
    candidates = [Candidate(column, command(suite, place, column, program), read)
                  for column in program.columns()]
    return rows.Group(key, candidates, [
        Row(f"{key}_{column}", f"{program.title}, {column}, {place.title}", "speed", "s",
            Value(column, program.value), Value(PAGES, program.value),
            suite.bound(bound(program, column, place)))
        for column in program.columns() if column != PAGES],
        [suite.program(f"compiled/{mode}/{program.name}") for mode in MODES.values()],
        needs_hosts=not place.delay_us)


def groups(suite):
    return [group(suite, program, place) for program in PROGRAMS for place in PLACES]


def shortest(candidate, value):
    return min(candidate.samples(value), default=None)


def amount(bytes_):
    return f"{bytes_ / 2**20:.1f} MiB" if bytes_ >= 2**20 else f"{bytes_ / 2**10:.0f} KiB"


def cell(candidate, value):
    """Time, trips, bytes and faults of the run that took least time; or why there is none."""
    runs = [run for run in candidate.runs if run.counted and value in run.values]
    if not runs:
        return candidate.failure or "-"
    best = min(runs, key=lambda run: run.values[value]).values
    return (f"{1e3 * best[value]:#.3g} ms, {best['trips']:.0f}, {amount(best['bytes'])}, "
            f"{best['faults']:.0f}").replace(". ms", " ms")


def winner(by_mode, value):
    """The fastest mode and its speed against pages, or that the compiler gains nothing."""
    times = {mode: shortest(candidate, value) for mode, candidate in by_mode.items()}
    if any(time is None for time in times.values()):
        return "-"
    best = min(times, key=times.get)
    speed = times[PAGES] / times[best]
    return f"{best}, {speed:.2f}" if speed >= NO_GAIN else "no gain"


def table(measured):
    """Lines of Markdown: one per program and place."""
    heading = ["program", "where", *MODES, HOME_ONLY, "speed of hint", "fastest"]
    lines = ["| " + " | ".join(heading) + " |", "|---" * len(heading) + "|"]
    by_key = {made.key: made for made in measured}
    for program in PROGRAMS:
        for place in PLACES:
            found = by_key.get(f"modes_{program.key}_{place.key}")
            if found is None:
                continue
            by_mode = {candidate.name: candidate for candidate in found.candidates}
            times = [shortest(by_mode[mode], program.value) for mode in (PAGES, HINT)]
            hint = f"{times[0] / times[1]:.2f}" if all(times) else "-"
            lines.append("| " + " | ".join([
                program.title, place.title,
                *(cell(by_mode[column], program.value) if column in by_mode else "-"
                  for column in [*MODES, HOME_ONLY]), hint, winner(by_mode, program.value)]) + " |")
    return lines


def disturbance(measured):
    return alternate.disturbance([run for made in measured for candidate in made.candidates
                                  for run in candidate.runs if run.counted])


def section(measured, told, rounds):
    return "\n".join([
        MARKS[0], "## Modes of musubi-cc", "",
        "`bench/run --modes` writes this section. The same programs by [musubi-cc](guide/compiler.md), in",
        "mode off (`pages`), hint, adsm and udsm, and in udsm with policy home_only. `hosts` are network",
        "namespaces by TCP with a rank each; in the other lines the ranks are on one host, with memories of",
        "their own and round trips made longer (`fabric_delay`). Four ranks share two cores. A cell:",
        "milliseconds of the part that the program times; then, of the whole job, trips (batches of remote",
        "operations, and messages), bytes of remote operations, and faults (signals). The run that took least",
        f"time of {rounds}, after one that warms up. `fastest`: the column, if it is",
        f"{100 * (NO_GAIN - 1):.0f} % faster than pages, and its speed; or no gain. Other processes used",
        f"{disturbance(measured):.2f} cores.",
        "", *table(measured), "", "```", *told, "```", MARKS[1]])


def kept_section(text):
    """What `text` has of the marks and between them."""
    begin, end = text.find(MARKS[0]), text.find(MARKS[1])
    return text[begin:end + len(MARKS[1])] if 0 <= begin < end else ""


def write(path, measured, told, rounds):
    """Replaces the section in the page, or adds it. Result: the commands that failed."""
    text = path.read_text(encoding="utf-8")
    made, kept = section(measured, told, rounds), kept_section(text)
    text = text.replace(kept, made) if kept else f"{text.rstrip()}\n\n{made}\n"
    path.write_text(text, encoding="utf-8")
    return [f"{one.key}, {candidate.name}: {candidate.failure}"
            for one in measured for candidate in one.candidates if candidate.failure]
