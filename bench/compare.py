#!/usr/bin/env python3
"""Runs commands alternately and compares their times.

  compare.py -k 5 -c native "OMP_NUM_THREADS=2 ./cg A" -c musubi "musubi run -n 2 ./cg A"

The first command is the base of the ratios. Alternation spreads other load of the machine over all
commands; the first round warms up and does not count. A command that fails is reported, and makes the exit
status 1.
"""

import argparse
import csv
import statistics
import sys

sys.dont_write_bytecode = True
import alternate  # noqa: E402  (after the line that keeps the source tree clean)

PROGRAM_TIME = r"^time ([0-9.]+) s"
COLUMNS = ["name", "median_s", "min_s", "max_s", "spread", "ratio", "rounds", "failure", "command"]


def times(candidate):
    """A candidate has one value per run here, whatever its name."""
    return [value for run in candidate.runs for value in run.values.values()]


def summarize(candidates):
    """A dictionary by COLUMNS for each candidate; the ratio compares its median with the first
    candidate's."""
    base = statistics.median(times(candidates[0])) if times(candidates[0]) else None
    rows = []
    for candidate in candidates:
        row = dict.fromkeys(COLUMNS, "")
        row.update(name=candidate.name, rounds=len(times(candidate)), failure=candidate.failure,
                   command=candidate.command)
        if times(candidate):
            median = statistics.median(times(candidate))
            shortest, longest = min(times(candidate)), max(times(candidate))
            row.update(median_s=f"{median:.6f}", min_s=f"{shortest:.6f}", max_s=f"{longest:.6f}",
                       spread=f"{(longest - shortest) / median if median else 0:.3f}",
                       ratio=f"{median / base:.3f}" if base else "")
        rows.append(row)
    return rows


def format_rows(rows):
    lines = [f"{'':28} {'median s':>12} {'min s':>12} {'spread':>8} {'ratio':>8}"]
    for row in rows:
        if row["failure"]:
            lines.append(f"  {row['name']:26} FAILED: {row['failure']}")
            continue
        spread = f"{100 * float(row['spread']):.1f} %"
        lines.append(f"  {row['name']:26} {float(row['median_s']):12.6f} {float(row['min_s']):12.6f} "
                     f"{spread:>8} {row['ratio']:>8}")
    return "\n".join(lines)


def write_csv(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
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

    alternate.clean_up_when_terminated()
    read = alternate.wall_time if options.wall else alternate.time_by_pattern(options.pattern)
    candidates = [alternate.Candidate(name, command, read) for name, command in options.command]
    alternate.measure(candidates, options.rounds, options.timeout)
    rows = summarize(candidates)
    print(format_rows(rows))
    if options.csv:
        write_csv(options.csv, rows)
    return 1 if any(candidate.failure for candidate in candidates) else 0


if __name__ == "__main__":
    sys.exit(main())
