"""The measurements: groups of commands that run alternately, and the rows computed from their samples."""

import csv
import dataclasses
import pathlib
import re
import shlex

import far_rows
import model_rows
import modes
import network_rows
from alternate import Candidate, wall_time
from programs import PROGRAMS, TASKS
from table import Row, Value

# libgomp's threads spin while they wait unless told otherwise, which makes it the harder peer on an idle
# machine.
LIBGOMP, PASSIVE, SEQUENTIAL = "libgomp", "libgomp passive", "1 thread"
TWO_RANKS = "musubi -n 2"  # of OpenMP programs: the program as it is, with two threads
# Ranks with separate memories on one host: the cost of a protocol between them.
OWN_MEMORIES, PROTOCOL = "musubi -n 2, protocol", "--set coherence=protocol"
FOLDERS = {"heat": "examples", "mandelbrot": "examples", "hash_table": "examples", "traversal": "examples",
           "nbody_by_sms": "examples/sms", "mandelbrot_by_sms": "examples/sms"}
MPIRUN = "mpirun --allow-run-as-root --oversubscribe"
# The rows of `costs`. Without prefetches and runs, which exist to save these faults.
READ_FAULT = "musubi: read fault with fetch of 32 KiB"
WRITE_FAULT = "musubi: write fault with twin of 32 KiB"
WRITE_MISS = "musubi: write fault with fetch and twin of 32 KiB"
FAULT_OPTIONS = "--stats --set fetches_ahead_max=0 --set run_bytes_max=0 --set far_run_bytes_max=0"
PEER_SETTINGS = "OMP_NUM_THREADS=2 OMP_PROC_BIND=true"


@dataclasses.dataclass
class Group:
    key: str
    candidates: list
    rows: list
    programs: list  # files that the group needs
    rounds_factor: int = 1
    needs_hosts: bool = False  # bench/between_hosts must be able to make hosts


def program_times(*names):
    """The lines `<name> <seconds> s` of a program that has verified its result."""
    return program_values(*names, unit="s$")


def program_values(*names, unit=""):
    """The lines `<name> <value> <unit>` of a program that has verified its result."""
    def read(output, _seconds):
        if not re.search(r"^VERIFICATION SUCCESSFUL$", output, re.MULTILINE):
            return {}, "the result is not verified"
        found = {name: re.search(rf"^{name} ([0-9.]+) {unit}", output, re.MULTILINE) for name in names}
        missing = [name for name, match in found.items() if not match]
        if missing:
            return {}, f"no line `{missing[0]} ... {unit.removesuffix('$')}`"
        return {name: float(match.group(1)) for name, match in found.items()}, ""
    return read


def printed_rows(output):
    """Rows name,median_ns,p10_ns,p90_ns,rounds wherever they stand in the output: (median, rounds) by name.
    """
    lines = [line for line in csv.reader(output.splitlines()) if len(line) == 5]
    return {line[0]: (float(line[1]), int(line[4])) for line in lines if line[0] != "name"}


def cost_rows(*names):
    """Medians in ns of the rows with these names."""
    def read(output, _seconds):
        if re.search(r"^VERIFICATION FAILED", output, re.MULTILINE):
            return {}, "the result is not verified"
        printed = printed_rows(output)
        for name in names:
            if name not in printed:
                return {}, f"no row `{name}`"
            if printed[name][1] < 1:
                return {}, f"row `{name}` has no samples"
        return {name: printed[name][0] for name in names}, ""
    return read


def derived(read, make):
    """As `read`, plus the values that `make` computes from them."""
    def read_and_add(output, seconds):
        values, problem = read(output, seconds)
        return ({}, problem) if problem else (values | make(values), "")
    return read_and_add


def fault_rows(read_rows, write_rows):
    """As cost_rows, for accesses of rank 1; the counters must show that each of them was a fault."""
    def read(output, seconds):
        values, problem = cost_rows(*read_rows, *write_rows)(output, seconds)
        if problem:
            return {}, problem
        printed = printed_rows(output)
        for counter, names in [("read_faults", read_rows), ("write_faults", write_rows)]:
            line = re.search(rf"^\s*{counter}\s+\d+\s+(\d+)\s", output, re.MULTILINE)
            faults = int(line.group(1)) if line else 0
            accesses = sum(printed[name][1] for name in names)
            if faults < accesses:
                return {}, f"{accesses} accesses timed, but {counter} of rank 1 is {faults}"
        return values, ""
    return read


class Suite:
    """All groups, for one build tree; `quick` takes small sizes, to which no bound applies."""

    def __init__(self, build, musubi, quick):
        self.build, self.quick = build, quick
        self.missing = set()  # missing MPIs that the user has been told of
        self.musubi = shlex.quote(str(musubi))

    def program(self, name):
        return self.build / FOLDERS.get(name, "bench") / name

    def rank_command(self, options, name, arguments):
        return f"{self.musubi} run {options} {shlex.quote(str(self.program(name)))} {arguments}".rstrip()

    def bound(self, text):
        return "" if self.quick else text

    def size(self, full, quick="S"):
        return quick if self.quick else full

    def cost(self, key, measure, ours, peer, bound="", beside=None):
        return Row(key, measure, "cost", "ns", Value(*ours), Value(*peer), self.bound(bound),
                   Value(*beside) if beside else None)

    def faults(self):
        read = ("read fault: invalid -> filled 32 KiB, readable", READ_FAULT)
        twin = ("write fault: readable -> twin 32 KiB, writable", WRITE_FAULT)
        both = ("write fault: invalid -> filled 32 KiB, writable", WRITE_MISS)
        floor, ours = "SIGSEGV + memcpy + mprotect", OWN_MEMORIES
        rounds = self.size(5000, 256)
        options = f"-n 2 {PROTOCOL} {FAULT_OPTIONS}"
        memory = ", from memory"  # blocks that fit no cache, on either side

        def both_sizes(names):
            return [name + suffix for name in names for suffix in ("", memory)]

        def row(key, measure, pair, suffix="", bound=""):
            return self.cost(key, measure + suffix, (ours, pair[1] + suffix), (floor, pair[0] + suffix),
                             bound)
        return Group("faults", [
            Candidate(floor, f"{self.program('floors')} --csv --only faults {rounds}",
                      cost_rows(*both_sizes([read[0], twin[0], both[0]]))),
            Candidate(ours, self.rank_command(options, "costs", f"--csv --only faults {rounds}"),
                      fault_rows(both_sizes([read[1]]), both_sizes([twin[1], both[1]]))),
        ], [
            row("read_fault", "read fault with fetch of a block", read, bound="<= 1.3"),
            row("write_fault", "write fault with twin", twin, bound="<= 1.2"),
            row("write_miss", "write fault with fetch and twin", both),
            row("read_fault_memory", "read fault with fetch of a block", read, memory, "<= 1.3"),
            row("write_fault_memory", "write fault with twin", twin, memory, "<= 1.2"),
            row("write_miss_memory", "write fault with fetch and twin", both, memory),
        ], [self.program("floors"), self.program("costs")])

    def barrier(self, ranks, part, floors):
        """`floors` names rows of that part of the floors; the first is the peer."""
        ours, row = f"musubi -n {ranks}", "omp barrier"
        # Processes that outnumber the cores lose a time slice at each barrier when other processes use the
        # cores too.
        rounds = self.size(2000 if ranks == 2 else 500, 50)
        command = f"{self.program('floors')} --csv --only {part} {rounds}"
        candidates = [Candidate(name, command, cost_rows(printed)) for name, printed in floors.items()]
        arguments = f"barrier {rounds}"
        candidates.insert(1, Candidate(ours, self.rank_command(f"-n {ranks}", "omp_costs", arguments),
                                       cost_rows(row)))
        peer, *others = floors.items()
        return Group(f"barrier_n{ranks}", candidates, [
            self.cost(f"barrier_n{ranks}", f"empty omp barrier, -n {ranks}", (ours, row), peer, "<= 3",
                      *others)], [self.program("floors"), self.program("omp_costs")])

    def critical(self):
        sleeping, spinning = "futex mutex", "futex mutex, spinning"
        rows = {sleeping: "mutex: handed between 2 processes, futex only",
                spinning: "mutex: handed between 2 processes, spin then futex"}
        handed, mean = "omp critical, handed to the other thread", "omp critical, mean of all increments"
        rounds = 2000
        floor = f"{self.program('floors')} --csv --only mutex {rounds}"

        def row(key, measure, name, bound=""):
            return self.cost(key, measure, (TWO_RANKS, name), (sleeping, rows[sleeping]), bound,
                             (spinning, rows[spinning]))
        return Group("critical", [
            Candidate(sleeping, floor, cost_rows(rows[sleeping])),
            Candidate(TWO_RANKS, self.rank_command("-n 2", "omp_costs", f"critical {rounds}"),
                      cost_rows(handed, mean)),
            Candidate(spinning, floor, cost_rows(rows[spinning])),
        ], [row("critical", "omp critical + increment, handed over, -n 2", handed, "<= 4"),
            row("critical_mean", "omp critical + increment, mean of all", mean)],
            [self.program("floors"), self.program("omp_costs")])

    def tasks(self):
        ours, rounds = "musubi -n 1 -t 2, protocol", self.size(2000, 50)
        printed = {"at_once": "omp task, at once", "deferred": "omp task, deferred"}
        bounds = {"at_once": "<= 0.6", "deferred": "<= 0.75"}
        program = shlex.quote(str(self.program("task_costs")))

        def passive(kind):
            return f"{PEER_SETTINGS} OMP_WAIT_POLICY=passive {program} {kind} {rounds}"

        def candidates(kind, row):
            command = self.rank_command(f"-n 1 -t 2 {PROTOCOL}", "task_costs", f"{kind} {rounds}")
            return [Candidate(f"{LIBGOMP}, {kind}", passive(kind), cost_rows(row)),
                    Candidate(f"{ours}, {kind}", command, cost_rows(row))]
        return Group("tasks", [each for kind, row in printed.items() for each in candidates(kind, row)], [
            self.cost(f"task_{kind}", f"{row}, one thread", (f"{ours}, {kind}", row),
                      (f"{LIBGOMP}, {kind}", row), bounds[kind]) for kind, row in printed.items()],
            [self.program("task_costs")])

    def global_objects(self):
        ours, malloc = "musubi: galloc + gfree of 64 bytes, ", "malloc + free of 64 bytes"
        cached, batches = ours + "cached", ours + "in batches"
        rounds = self.size(2000, 100)

        def use(output, _seconds):
            found = {name: re.search(rf"^{name} (\d+) B$", output, re.MULTILINE)
                     for name in ("peak requested", "peak taken")}
            missing = [name for name, match in found.items() if not match]
            if missing:
                return {}, f"no line `{missing[0]} ... B`"
            return {name: float(match.group(1)) for name, match in found.items()}, ""

        def command(part):
            return self.rank_command("-n 2", "gheap_costs", f"--csv --only {part} {rounds}")
        return Group("galloc", [
            Candidate(TWO_RANKS, command("time"), cost_rows(cached, batches, malloc)),
            Candidate("heaps of 2 ranks", command("memory"), use),
        ], [self.cost("galloc_cached", "galloc + gfree at the other rank", (TWO_RANKS, cached),
                      (TWO_RANKS, malloc), "<= 8"),
            self.cost("galloc_batches", "1000 galloc, then gfree, at the other rank", (TWO_RANKS, batches),
                      (TWO_RANKS, malloc)),
            Row("galloc_memory", "memory taken / requested, at their peaks", "cost", "B",
                Value("heaps of 2 ranks", "peak taken"), Value("heaps of 2 ranks", "peak requested"),
                self.bound("<= 1.5"))],
            [self.program("gheap_costs")])

    def eager(self):
        """Messages that their receiver does not expect, on one host."""
        rounds = self.size(5000, 200)
        heap, messages, mpi = "global heap", "fabric's messages", "Open MPI"
        sizes = {heap: (8, 256, 1024, 16384), messages: (8, 256, 1024), mpi: (8, 256, 1024, 16384)}
        names = {heap: "musubi heap", messages: "musubi messages", mpi: "MPI"}
        kinds = {"latency": "one way", "rate": "sent and received"}

        def row_name(carrier, kind, size):
            return f"{names[carrier]}: {kind}, {size} bytes"

        def candidate(carrier, command):
            return Candidate(carrier, command, cost_rows(
                *(row_name(carrier, kind, size) for kind in kinds.values() for size in sizes[carrier])))
        candidates = [
            candidate(heap, self.rank_command("-n 2", "eager_heap", f"{rounds}")),
            candidate(messages, self.rank_command("--plain -n 2", "eager_messages", f"{rounds}"))]
        has_mpi = self.has_mpi("eager_mpi")
        if has_mpi:
            candidates.append(candidate(mpi, f"{MPIRUN} -np 2 {self.program('eager_mpi')} {rounds}"))
        rows = []
        for key, kind in kinds.items():
            for size in sizes[mpi]:
                peer = mpi if has_mpi else messages
                if size not in sizes[peer]:
                    continue
                beside = (messages, row_name(messages, kind, size))
                rows.append(self.cost(
                    f"eager_{key}_{size}", f"eager message, {kind}, {size} bytes",
                    (heap, row_name(heap, kind, size)), (peer, row_name(peer, kind, size)), "",
                    beside if size in sizes[messages] and has_mpi else None))
        return Group("eager", candidates, rows, [self.program("eager_heap"), self.program("eager_messages")])

    def sms_costs(self):
        """Barrier and lock of sms.h by 4 processes; the peer is MPI, or 2 processes of the same."""
        rounds = self.size(500, 40)
        sms, fewer, mpi = "sms.h -n 4", "sms.h -n 2", "Open MPI -np 4"
        names = {"barrier": "barrier", "lock": "lock and unlock, by turns",
                 "locks": "lock and unlock, all at once"}
        has_mpi = self.has_mpi("costs_by_mpi")
        peer, prefix = (mpi, "MPI") if has_mpi else (fewer, "sms")

        def candidate(name, command, carrier):
            return Candidate(name, f"{command} {rounds}",
                             cost_rows(*(f"{carrier}: {row}" for row in names.values())))
        candidates = [
            candidate(sms, self.rank_command("-n 4", "costs_by_sms", ""), "sms"),
            candidate(mpi, f"{MPIRUN} -np 4 {self.program('costs_by_mpi')}", "MPI") if has_mpi else
            candidate(fewer, self.rank_command("-n 2", "costs_by_sms", ""), "sms")]
        published = {"barrier": " (paper, 4 PCs by UDP: 0.92 ms)", "lock": " (paper: 1.47 ms)", "locks": ""}
        return Group("sms_costs", candidates, [
            self.cost(f"sms_{key}", f"sms.h: {name}, 4 processes{published[key]}", (sms, f"sms: {name}"),
                      (peer, f"{prefix}: {name}")) for key, name in names.items()],
            [self.program("costs_by_sms")])

    def sms_program(self, key, title, program, arguments, more_processes=0):
        """A program of paper SMS on 2, 4, 8 processes, compared with MPI, or with 1 process if MPI is
        missing. MPI gets `more_processes`, since one of its processes only hands out work."""
        counts = (2, 4, 8)
        by_mpi = f"{program}_by_mpi"
        has_mpi = self.has_mpi(by_mpi)
        read = program_times("time")

        def by_sms(count):
            return Candidate(f"sms.h -n {count}",
                             self.rank_command(f"-n {count}", f"{program}_by_sms", arguments), read)

        def of_messages(count):
            return Candidate(f"Open MPI {count}",
                             f"{MPIRUN} -np {count + more_processes} {self.program(by_mpi)} {arguments}",
                             read)
        pairs = [(by_sms(count), of_messages(count) if has_mpi else by_sms(1)) for count in counts]
        candidates = list({one.name: one for pair in pairs for one in pair}.values())
        rows = [Row(f"{key}_n{count}", f"{title}, {count} processes", "speed", "s", Value(ours.name, "time"),
                    Value(peer.name, "time"), "") for count, (ours, peer) in zip(counts, pairs)]
        return Group(key, candidates, rows, [self.program(f"{program}_by_sms")])

    def has_mpi(self, program, name="Open MPI", packages="openmpi-bin and libopenmpi-dev"):
        found = self.program(program).exists()
        if not found and name not in self.missing:
            self.missing.add(name)
            print(f"rows against {name} are left out: {packages} are not installed")
        return found

    def global_pages(self):
        """Relocatable pages, compared with the fabric's own operations and plain copies."""
        rounds = self.size(1000, 50)
        sizes = [4096 << shift for shift in range(0, 10, 2)]
        known = {verb: f"gas: {verb} of 8 bytes, known" for verb in ("get", "put")}
        raw = {verb: f"fabric: {verb} of 8 bytes" for verb in ("get", "put")}
        miss, moving = "gas: get of 8 bytes, not known", "gas: get and put of 8 bytes while the page moves"
        names = [*known.values(), *raw.values(), miss, moving]
        for size in sizes:
            names += [f"gas: own of {size} bytes", f"copy of {size} bytes"]
        command = self.rank_command("--plain -n 2", "gas_costs", f"--csv {rounds}")

        def row(key, measure, name, peer, bound=""):
            return self.cost(key, measure, (TWO_RANKS, name), (TWO_RANKS, peer), bound)
        return Group("gas", [Candidate(TWO_RANKS, command, cost_rows(*names))], [
            row("gas_get", "gas_get of 8 bytes at the other rank", known["get"], raw["get"], "<= 1.3"),
            row("gas_put", "gas_put of 8 bytes at the other rank", known["put"], raw["put"], "<= 1.3"),
            row("gas_miss", "the same get, of a page that is not known", miss, raw["get"]),
            row("gas_moving", "put and get while the page moves around", moving, raw["get"]),
            *(row(f"gas_own_{size}", f"gas_own of a page of {size} bytes", f"gas: own of {size} bytes",
                  f"copy of {size} bytes") for size in sizes),
        ], [self.program("gas_costs")])

    def relocation(self, key, program, unit_of_work, arguments):
        """gas_own for pages whose work changes hands, compared with pages that stay, and with cached
        copies."""
        ways, kinds = ("owned", "static", "cached"), {"time": "s", "remote": "operations"}
        names = {kind: {way: f"{key}_{way}_{kind}" for way in ways} for kind in kinds}
        read = program_values(*(name for of_kind in names.values() for name in of_kind.values()))
        candidate = Candidate(TWO_RANKS, self.rank_command("-n 2", program, arguments), read)

        def row(kind, measure):
            owned, static, cached = (Value(TWO_RANKS, names[kind][way]) for way in ways)
            return Row(f"gas_{key}_{kind}", measure, "cost", kinds[kind], owned, static, beside=cached)
        return Group(f"gas_{key}", [candidate], [
            row("time", f"{program}: time with gas_own, beside static placement"),
            row("remote", f"{program}: operations at other ranks for each {unit_of_work}"),
        ], [self.program(program)])

    def arguments(self, key):
        return self.size(PROGRAMS[key].full, PROGRAMS[key].quick)

    def application(self, key, bound=">= 0.97", sequential=""):
        """Rows for -n 2, as one process and by the protocol, for each value that the program prints;
        `bound` is that of one process."""
        title, name, values = PROGRAMS[key].title, PROGRAMS[key].name, PROGRAMS[key].values
        arguments = self.arguments(key)
        plain = f"{shlex.quote(str(self.program(name)))} {arguments}"
        read = program_times(*values)
        candidates = [
            Candidate(LIBGOMP, f"{PEER_SETTINGS} {plain}", read),
            Candidate(TWO_RANKS, f"{PEER_SETTINGS} " + self.rank_command("-n 2", name, arguments), read),
            Candidate(OWN_MEMORIES, self.rank_command(f"-n 2 {PROTOCOL}", name, arguments), read),
            Candidate(PASSIVE, f"{PEER_SETTINGS} OMP_WAIT_POLICY=passive {plain}", read),
        ]
        rows = []
        for value in values:
            named = f"{title}, {value}" if len(values) > 1 else title
            part = f"{key}_{value}" if len(values) > 1 else key
            rows += [Row(f"{part}_n2", f"{named}, -n 2", "speed", "s", Value(TWO_RANKS, value),
                         Value(LIBGOMP, value), self.bound(bound), Value(PASSIVE, value)),
                     Row(f"{part}_protocol", f"{named}, -n 2, protocol", "speed", "s",
                         Value(OWN_MEMORIES, value), Value(LIBGOMP, value), "", Value(PASSIVE, value))]
        if sequential:
            candidates.append(Candidate(SEQUENTIAL, f"OMP_NUM_THREADS=1 {plain}", read))
            rows.append(Row(f"{key}_sequential", f"{title}, -n 2 against 1 thread", "speed", "s",
                            Value(TWO_RANKS, "time"), Value(SEQUENTIAL, "time"), self.bound(sequential)))
        return Group(key, candidates, rows, [self.program(name)])

    def block_sizes(self, program):
        """One program with migrating blocks of one size, and with the default settings."""
        title, name, arguments = PROGRAMS[program].title, PROGRAMS[program].name, self.arguments(program)
        key = f"blocks_{name}"
        plain = f"{shlex.quote(str(self.program(name)))} {arguments}"
        candidates = [Candidate(LIBGOMP, f"{PEER_SETTINGS} {plain}", program_times("time"))]
        rows = []
        for part, size, options in [
                ("default", "as set", f"-n 2 {PROTOCOL}"),
                *((f"{kib}k", f"{kib} KiB",
                   f"-n 2 {PROTOCOL} --set heap_block_bytes={kib}KiB --set run_bytes_max={kib}KiB")
                  for kib in (4, 32, 256))]:
            ours = f"blocks {size}"
            candidates.append(Candidate(ours, self.rank_command(options, name, arguments),
                                        program_times("time")))
            rows.append(Row(f"{key}_{part}", f"{title}, {ours}", "blocks", "s", Value(ours, "time"),
                            Value(LIBGOMP, "time")))
        return Group(key, candidates, rows, [self.program(name)])

    def start(self):
        alone = shlex.quote(str(self.program("nothing")))

        def in_ms(output, seconds):
            return {"wall": 1e3 * wall_time(output, seconds)[0]["wall"]}, ""
        return Group("start", [
            Candidate("the program alone", alone, in_ms),
            Candidate(TWO_RANKS, self.rank_command("-n 2", "nothing", ""), in_ms),
        ], [Row("start", "start and end of a job on one host", "extra", "ms", Value(TWO_RANKS, "wall"),
                Value("the program alone", "wall"), self.bound("<= 60"))],
            [self.program("nothing")], rounds_factor=5)

    def groups(self):
        groups = self.full_groups()
        if self.quick:
            for group in groups:
                group.rows = [dataclasses.replace(row, measure=f"{row.measure} (small size)")
                              for row in group.rows]
        return groups

    def full_groups(self):
        size = self.size
        return [
            self.faults(),
            self.barrier(2, "spin_barrier", {
                "spinning barrier": "barrier: 2 processes on 2 cores, spinning"}),
            self.barrier(4, "yielding_barrier", {
                "yielding barrier": "barrier: 4 processes on 2 cores, yield then futex",
                "yielding, not pinned": "barrier: 4 processes not pinned, yield then futex"}),
            self.critical(), self.tasks(),
            self.global_objects(), self.global_pages(), self.eager(),
            self.relocation("table", "hash_table", "key", self.size("100000", "1000")),
            self.relocation("traversal", "traversal", "edge", self.size("10", "1")),
            self.sms_costs(),
            self.sms_program("sms_nbody_100", "N-body, 100 bodies", "nbody", size("100 2000", "100 20")),
            self.sms_program("sms_nbody_1000", "N-body, 1,000 bodies", "nbody", size("1000 100", "200 5")),
            self.sms_program("sms_mandelbrot", "Mandelbrot, equal parts", "mandelbrot",
                             size("static 1024", "static 100")),
            self.sms_program("sms_pool", "Mandelbrot, pool of tiles", "mandelbrot",
                             size("pool 1024", "pool 100"), more_processes=1),
            *(self.application(key) for key in (
                "daxpy", "ep_a", "heat", "cg_a", "cg_b", "mg_a", "ft_a", "is_a")),
            self.application("adi_w", sequential="> 1.4"), self.application("adi_a", sequential="> 1.4"),
            *(self.application(key) for key in (
                "adi_inner", "penta", "graph", "mesh", "queens", "beside", "stream")),
            *(self.application(key, bound=">= 0.95") for key in TASKS),
            self.block_sizes("cg_a"), self.block_sizes("stream"),
            *far_rows.groups(self),
            *network_rows.groups(self),
            *model_rows.groups(self),
            *modes.groups(self),
            self.start(),
        ]


def missing_program(group):
    """The reason why the group cannot run, or an empty text."""
    missing = [path for path in group.programs if not pathlib.Path(path).exists()]
    return f"{missing[0]} does not exist: build it, or name another tree with --build" if missing else ""
