"""Bar charts of the ratios, one file for each kind of row. Needs matplotlib (dev/install_packages plots)."""

TITLES = {"cost": "time of Musubi / time of the floor (smaller is better)",
          "speed": "speed against the peer in the same run (larger is better)",
          "extra": "milliseconds more than the program alone (smaller is better)"}
COLORS = {"yes": "#4c956c", "no": "#c8553d", "": "#8d99ae"}


def draw_kind(figure_of, kind, results, path):
    figure, axes = figure_of(figsize=(9, 1.2 + 0.34 * len(results)))
    places = range(len(results))
    ratios = [float(result["ratio"]) for result in results]
    spread = [[max(ratio - float(result["ratio_p10"]), 0) for ratio, result in zip(ratios, results)],
              [max(float(result["ratio_p90"]) - ratio, 0) for ratio, result in zip(ratios, results)]]
    axes.barh(places, ratios, xerr=spread, height=0.6, color=[COLORS[result["holds"]] for result in results],
              error_kw={"elinewidth": 1, "capsize": 2, "ecolor": "#333333"})
    for place, result in zip(places, results):
        if result["bound"]:
            bound = float(result["bound"].split()[1])
            axes.plot([bound, bound], [place - 0.4, place + 0.4], color="black", linewidth=2)
    axes.set_yticks(places, [result["measure"] for result in results], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_title(TITLES[kind], fontsize=9)
    axes.set_xlabel("bar: ratio of medians; whisker: p10 to p90 of the rounds; mark: what is required",
                    fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    figure.clear()


def draw(results, folder):
    """Returns the paths of the SVG files, and "" or why there are none. Rows without a result have no bar."""
    try:
        import matplotlib
    except ImportError:
        return [], "matplotlib is not installed: dev/install_packages plots"
    matplotlib.use("svg")
    import matplotlib.pyplot
    paths = []
    for kind in TITLES:
        drawn = [result for result in results if result["kind"] == kind and result["ratio"] != ""]
        if drawn:
            paths.append(folder / f"ratios_{kind}.svg")
            draw_kind(matplotlib.pyplot.subplots, kind, drawn, paths[-1])
    return paths, "" if paths else "no row has a result"
