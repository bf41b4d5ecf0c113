"""Programs of musubi-cc on 8 to 64 simulated nodes, by touches of ranks of real jobs: records each
program in each mode, simulates the recordings, and writes the table of docs/design/scaling.md.
`bench/scale/run --recorded` calls it."""

import concurrent.futures
import csv
import dataclasses
import io
import os
import pathlib
import subprocess
import tempfile

import marks
from modes import HOME_ONLY, MODES

FABRICS = {"infiniband": "InfiniBand", "tcp_25_gbe": "TCP"}
NODES = (8, 16, 32, 64)
FASTER = 0.03  # than pages, or the compiler gains nothing
MARKS = ("<!-- recorded -->", "<!-- end of recorded -->")


@dataclasses.dataclass(frozen=True)
class Program:
    title: str
    name: str
    arguments: str
    spmd: bool = False  # a program of musubi.h: only those are compiled for home-only memory

    def modes(self):
        return [mode for mode in MODES if mode != HOME_ONLY or self.spmd]


PROGRAMS = [
    Program("blocked LU, 512", "blocked_lu", "16 32"),
    Program("radix sort of 256k keys, key by key", "radix_sort", "262144 scatter 1"),
    Program("FFT by six steps, 256 x 256", "six_step", "256 1"),
    Program("transpose of 64 x 64 x 64", "transpose", "64 64 64 2"),
    Program("body tree, 5,000 bodies", "body_tree", "5000 1"),
    Program("stencil on rows, 512", "row_stencil", "512 10"),
    Program("heat, 512 x 512", "heat", "512 10"),
    Program("overwritten array, 256 KiB a rank", "overwritten", "256 4"),
    Program("radix sort of 256k new keys each turn", "key_scatter", "262144 2", spmd=True),
    Program("matrix of 512 rows turned", "turned", "512 2", spmd=True),
]


class Failure(Exception):
    pass


def run(command, limit_s, **environment):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                              timeout=limit_s, env=os.environ | environment)
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[0].name} took more than {limit_s} s") from None
    if done.returncode != 0:
        raise Failure((done.stderr.strip() or f"exit status {done.returncode}").splitlines()[0])
    return done.stdout


def record(build, program, mode, nodes, path, limit_s):
    """Leaves files path.0, path.1 ..."""
    launch = [build / "bin" / "musubi", "run", "-n", nodes, "-t", 1, "--trace", path]
    for setting in ("checks=verify", "trace_events=16"):
        launch += ["--set", setting]
    file = build / "bench" / "modes" / f"{program.name}_{mode}"
    text = run([*launch, file, *program.arguments.split()], limit_s, OMP_NUM_THREADS=str(nodes))
    if "VERIFICATION FAILED" in text:
        raise Failure(f"{file.name} has come to a wrong result")


def simulate(build, policy, path, fabric, limit_s):
    """The row of the table of musubi_scale."""
    scale = build / "bench" / "musubi_scale"
    text = run([scale, "columns"], limit_s) + run([scale, policy, f"recorded:{path}", fabric], limit_s)
    return next(csv.DictReader(io.StringIO(text)))


def measure(build, program, nodes, limit_s):
    """Result: by fabric and mode, a row or a failure."""
    found = {}
    for mode in program.modes():
        policy = HOME_ONLY if mode == HOME_ONLY else "migrating"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "recording"
            try:
                record(build, program, MODES[mode], nodes, path, limit_s)
                with concurrent.futures.ThreadPoolExecutor() as pool:
                    rows = list(pool.map(lambda fabric: simulate(build, policy, path, fabric, limit_s),
                                         FABRICS))
                found |= {(fabric, mode): row for fabric, row in zip(FABRICS, rows)}
            except Failure as failure:
                found |= {(fabric, mode): failure for fabric in FABRICS}
    return found


def cell(row):
    """Time, trips, kB, misses and faults that stopped the program."""
    if row is None:
        return "-"
    if isinstance(row, Failure):
        return "failed"
    trips = float(row["remote_operations"]) + float(row["messages"])
    return (f"{float(row['virtual_ns']) / 1e6:.2f}, {trips:.0f}, {float(row['bytes']) / 1e3:.0f}, "
            f"{float(row['fetches']):.0f}, {float(row['stops']):.0f}")


def winner(rows):
    times = {mode: float(row["virtual_ns"]) for mode, row in rows.items() if isinstance(row, dict)}
    best = min(times, key=times.get, default="-")
    return "pages" if times.get("pages", 0) * (1 - FASTER) < times.get(best, 0) else best


def table(measured):
    yield "| program | nodes | network | " + " | ".join(MODES) + " | wins |"
    yield "|---" * (len(MODES) + 4) + "|"
    for program, nodes, found in measured:
        for fabric, name in FABRICS.items():
            rows = {mode: found.get((fabric, mode)) for mode in MODES}
            yield (f"| {program.title} | {nodes} | {name} | " + " | ".join(map(cell, rows.values())) +
                   f" | {winner(rows)} |")


def main(build, page, programs, nodes_max, limit_s):
    """Result: lines that describe the failures."""
    measured = []
    chosen = [program for program in PROGRAMS if not programs or program.name in programs]
    for program in chosen:
        for nodes in (nodes for nodes in NODES if nodes <= nodes_max):
            measured.append((program, nodes, measure(build, program, nodes, limit_s)))
            print(f"{program.title}, {nodes} nodes: done", flush=True)
        if page:
            marks.replace(page, MARKS, table(measured))
    if not page:
        print("\n".join(table(measured)))
    return [f"{program.title}, {nodes} nodes, {fabric}, {mode}: {row}" for program, nodes, found in measured
            for (fabric, mode), row in found.items() if isinstance(row, Failure)]
