#!/usr/bin/env python3
"""Runs commands alternately and compares their times.

  compare.py -k 5 -c native "OMP_NUM_THREADS=2 ./cg A" -c musubi "musubi run -n 2 ./cg A"

The first command is the base of the ratios. Alternation spreads whatever else the machine does over all of
them; the first round warms up and does not count. A command that fails is reported, and makes the exit
status 1.
"""

import argparse
import csv
import dataclasses
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import time

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
PROGRAM_TIME = r"^time ([0-9.]+) s"
COLUMNS = ["group", "name", "median_s", "min_s", "max_s", "spread", "ratio", "rounds", "failure", "command"]


@dataclasses.dataclass
class Candidate:
    name: str
    command: str
    times: list = dataclasses.field(default_factory=list)
    failure: str = ""


def split_command(command):
    """Leading NAME=value words, as in a shell, and the words of the command."""
    words = shlex.split(command)
    settings = {}
    while words and ASSIGNMENT.match(words[0]):
        name, value = words.pop(0).split("=", 1)
        settings[name] = value
    return settings, words


def run_once(command, pattern, timeout_s):
    """Seconds, and "" or why it failed. Without a pattern the wall time counts."""
    settings, words = split_command(command)
    start = time.monotonic()
    try:
        process = subprocess.Popen(words, env={**os.environ, **settings}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as error:
        return 0.0, str(error)
    try:
        output = process.communicate(timeout=timeout_s)[0].decode(errors="replace")
    except BaseException as reason:  # an interrupt too must not leave the command's processes behind
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if not isinstance(reason, subprocess.TimeoutExpired):
            raise
        return 0.0, f"no end within {timeout_s:g} s"
    seconds = time.monotonic() - start
    if process.returncode != 0:
        last = output.strip().splitlines()[-1:] or ["no output"]
        return 0.0, f"exit status {process.returncode}: {last[0]}"
    if pattern is None:
        return seconds, ""
    found = re.search(pattern, output, re.MULTILINE)
    return (float(found.group(1)), "") if found else (0.0, f"no time in the output (pattern {pattern})")


def measure(candidates, rounds, pattern=PROGRAM_TIME, timeout_s=600.0):
    """Fills the candidates' times; one that fails is not run again."""
    for round_number in range(rounds + 1):
        for candidate in candidates:
            if candidate.failure:
                continue
            seconds, candidate.failure = run_once(candidate.command, pattern, timeout_s)
            if round_number > 0 and not candidate.failure:
                candidate.times.append(seconds)


def summarize(candidates, group=""):
    """One dictionary by COLUMNS for each candidate; the ratio is of medians, to the first."""
    base = statistics.median(candidates[0].times) if candidates[0].times else None
    rows = []
    for candidate in candidates:
        row = dict.fromkeys(COLUMNS, "")
        row.update(group=group, name=candidate.name, rounds=len(candidate.times), failure=candidate.failure,
                   command=candidate.command)
        if candidate.times and not candidate.failure:
            median = statistics.median(candidate.times)
            shortest, longest = min(candidate.times), max(candidate.times)
            row.update(median_s=f"{median:.6f}", min_s=f"{shortest:.6f}", max_s=f"{longest:.6f}",
                       spread=f"{(longest - shortest) / median if median else 0:.3f}",
                       ratio=f"{median / base:.3f}" if base else "")
        rows.append(row)
    return rows


def format_rows(rows):
    lines = [f"{'':28} {'median s':>12} {'min s':>12} {'spread':>8} {'ratio':>8}"]
    group = ""
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            lines.append(group)
        if row["failure"]:
            lines.append(f"  {row['name']:26} FAILED: {row['failure']}")
            continue
        spread = f"{100 * float(row['spread']):.1f} %"
        lines.append(f"  {row['name']:26} {float(row['median_s']):12.6f} {float(row['min_s']):12.6f} "
                     f"{spread:>8} {row['ratio']:>8}")
    return "\n".join(lines)


def write_csv(path, rows, notes=()):
    """`notes` become leading lines with a #."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {note}\n" for note in notes)
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-c", "--command", nargs=2, action="append", metavar=("NAME", "COMMAND"),
                        required=True)
    parser.add_argument("-k", "--rounds", type=int, default=5, help="counted rounds (default 5)")
    time_source = parser.add_mutually_exclusive_group()
    time_source.add_argument("--pattern", default=PROGRAM_TIME,
                             help="where the output tells seconds, as group 1 (default: %(default)s)")
    time_source.add_argument("--wall", action="store_true", help="take the wall time of the whole command")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="S", help="limit for one run")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")

    candidates = [Candidate(name, command) for name, command in options.command]
    measure(candidates, options.rounds, None if options.wall else options.pattern, options.timeout)
    rows = summarize(candidates)
    print(format_rows(rows))
    if options.csv:
        write_csv(options.csv, rows)
    return 1 if any(candidate.failure for candidate in candidates) else 0


if __name__ == "__main__":
    sys.exit(main())
