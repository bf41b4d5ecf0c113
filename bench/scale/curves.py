#!/usr/bin/env python3
"""Draws scaling.csv of a folder into SVG files in the same folder: curves.py <folder>. Needs matplotlib."""

import csv
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "scaling"  # the same file from the same table
import matplotlib.pyplot as pyplot  # noqa: E402
import matplotlib.ticker  # noqa: E402

POLICIES = {"migrating": ("#2a6f4e", "o", "-"), "directory": ("#c8553d", "s", "--"),
            "notices": ("#3d6fb4", "^", "-."), "timestamps": ("#9a6fb0", "D", ":")}
WORKLOADS = ["stencil", "gather", "all_to_all", "read_mostly", "migratory", "gather_scatter", "task_queue",
             "small_regions"]
FABRICS = {"infiniband": "InfiniBand", "tcp_25_gbe": "TCP, 25 GbE", "shared_memory": "shared memory"}
# file, fabric, quantity, title; counts of operations have a linear scale, on which a logarithm is a straight
# line
PLOTS = [
    ("operations", "infiniband", lambda r: r["remote_operations"] + r["messages"],
     "remote operations and messages of a node per iteration"),
    ("busiest", "infiniband", lambda r: r["busiest_operations"],
     "remote operations and messages of the busiest node per iteration"),
    ("bytes", "infiniband", lambda r: r["bytes"], "bytes moved by a node per iteration"),
    ("metadata", "infiniband", lambda r: r["metadata_bytes"], "bytes of metadata at a node"),
] + [(f"time_{fabric}", fabric, lambda r: r["virtual_ns"] / 1000,
      f"virtual time of an iteration over {text}, in µs") for fabric, text in FABRICS.items()]


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield {key: value if key in ("protocol", "workload", "fabric") else float(value)
                   for key, value in row.items()}


def draw(rows, fabric, value, title, path):
    figure, panels = pyplot.subplots(3, 3, figsize=(11, 9.2))
    for panel, workload in zip(panels.flat, WORKLOADS):
        for policy, (color, marker, line) in POLICIES.items():
            points = sorted((row["nodes"], value(row)) for row in rows if row["workload"] == workload and
                            row["protocol"] == policy and row["fabric"] == fabric)
            panel.plot(*zip(*points) if points else ([], []), color=color, marker=marker, linestyle=line,
                       markersize=3.5, linewidth=1.3, label=policy)
        panel.set_title(workload.replace("_", " "), fontsize=10)
        panel.set_xscale("log", base=2)
        if path.stem == "operations":
            panel.set_ylim(bottom=0)
        elif any(row["workload"] == workload and row["fabric"] == fabric for row in rows):
            panel.set_yscale("log")
            panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
            panel.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        panel.set_xticks([2, 16, 128, 1024, 4096], ["2", "16", "128", "1,024", "4,096"], fontsize=8)
        panel.tick_params(axis="y", labelsize=8)
        panel.grid(True, which="major", linewidth=0.4, color="#cccccc")
    key = panels.flat[len(WORKLOADS)]
    key.axis("off")
    key.legend(*panels.flat[0].get_legend_handles_labels(), loc="center", frameon=False, fontsize=11)
    figure.suptitle(f"{title}, against the number of nodes", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main():
    folder = pathlib.Path(sys.argv[1])
    rows = list(read_table(folder / "scaling.csv"))
    for name, fabric, value, title in PLOTS:
        if any(row["fabric"] == fabric for row in rows):
            draw(rows, fabric, value, title, folder / f"{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
