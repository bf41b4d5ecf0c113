#!/usr/bin/env python3
"""Bar charts of the ratios, one file for each kind of row, in the folder of the table: plots.py
<table.csv>"""

import csv
import importlib.util
import pathlib
import subprocess
import sys

NO_MATPLOTLIB = 77
TITLES = {"cost": "time of Musubi / time of the floor (smaller is better)",
          "speed": "speed against the peer in the same run (larger is better)",
          "blocks": "speed against libgomp by size of blocks and runs (larger is better)",
          "extra": "milliseconds more than the program alone (smaller is better)"}
COLORS = {"yes": "#4c956c", "no": "#c8553d", "": "#8d99ae"}


# Rows `<name>_<bytes>` that make two curves, ours and the peer's: the names of the two.
CURVES = {"gas_own": ("gas_own of a page", "copy of as many bytes"),
          "network_gas_own": ("gas_own of a page at another host", "get of as many bytes")}


def draw_curve(figure_of, names, results, path):
    figure, axes = figure_of(figsize=(6, 4))
    points = sorted((int(result["key"].rsplit("_", 1)[1]), float(result["ours"]), float(result["peer"]))
                    for result in results)
    for label, place, color in ((names[0], 1, "#4c956c"), (names[1], 2, "#8d99ae")):
        axes.plot([point[0] / 1024 for point in points], [point[place] / 1000 for point in points],
                  marker="o", color=color, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("KiB")
    axes.set_ylabel("microseconds")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    figure.clear()


def draw_kind(figure_of, kind, results, path):
    figure, axes = figure_of(figsize=(9, 1.2 + 0.34 * len(results)))
    places = range(len(results))
    ratios = [float(result["ratio"]) for result in results]
    spread = [[max(ratio - float(result["ratio_p10"]), 0) for ratio, result in zip(ratios, results)],
              [max(float(result["ratio_p90"]) - ratio, 0) for ratio, result in zip(ratios, results)]]
    axes.barh(places, ratios, xerr=spread, height=0.6, color=[COLORS[result["holds"]] for result in results],
              error_kw={"elinewidth": 1, "capsize": 2, "ecolor": "#333333"})
    bounds = [float(result["bound"].split()[1]) if result["bound"] else 0.0 for result in results]
    # A bar far beyond every bound would flatten all other bars: it is cut, and labelled with its number.
    widest = max(ratios + bounds)
    axes.set_xlim(0, 1.1 * min(widest, 3 * max(bounds) or widest))
    for place, ratio, bound in zip(places, ratios, bounds):
        axes.text(1.01, place, f"{ratio:.3g}", transform=axes.get_yaxis_transform(), va="center", fontsize=8)
        if bound:
            axes.plot([bound, bound], [place - 0.4, place + 0.4], color="black", linewidth=2)
    axes.set_yticks(places, [result["measure"] for result in results], fontsize=8)
    axes.invert_yaxis()
    axes.set_title(TITLES[kind], fontsize=9)
    axes.set_xlabel("bar: ratio of medians; whisker: p10 to p90 of the rounds; mark: what is required",
                    fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    figure.clear()


def draw(results, folder):
    """Returns the paths of the SVG files. Rows without a result have no bar. Needs matplotlib."""
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot
    paths = []
    for kind in TITLES:
        drawn = [result for result in results if result["kind"] == kind and result["ratio"] != ""]
        if drawn:
            paths.append(folder / f"ratios_{kind}.svg")
            draw_kind(matplotlib.pyplot.subplots, kind, drawn, paths[-1])
    for name, labels in CURVES.items():
        drawn = [result for result in results
                 if result["key"].rpartition("_")[0] == name and result["ratio"] != ""]
        if len(drawn) > 1:
            paths.append(folder / f"{name}.svg")
            draw_curve(matplotlib.pyplot.subplots, labels, drawn, paths[-1])
    return paths


def draw_table(table):
    """Draws the plots of table.csv in its folder, by the first interpreter that has matplotlib: only the
    distribution's interpreter finds the distribution's package. Returns a text for the user."""
    for interpreter in dict.fromkeys([sys.executable, "/usr/bin/python3"]):
        try:
            done = subprocess.run([interpreter, __file__, table], capture_output=True, text=True, check=False)
        except OSError:
            continue
        if done.returncode != NO_MATPLOTLIB:
            return (done.stdout + done.stderr).strip()
    return "No plots: matplotlib is not installed (dev/install_packages plots)"


def main():
    if importlib.util.find_spec("matplotlib") is None:
        return NO_MATPLOTLIB
    table = pathlib.Path(sys.argv[1])
    with open(table, newline="", encoding="utf-8") as file:
        results = list(csv.DictReader(line for line in file if not line.startswith("#")))
    paths = draw(results, table.parent)
    print(f"Plots: {', '.join(path.name for path in paths)}" if paths else "No plots: no row has a result")
    return 0


if __name__ == "__main__":
    sys.exit(main())
