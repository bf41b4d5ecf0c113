"""Turns samples into rows: medians, ratios with their spread, and whether a bound holds."""

import csv
import dataclasses
import math
import operator
import statistics

import alternate

# How a row compares the medians of ours and of the peer, both times:
#   cost    ours / peer, the smaller the better      speed   peer / ours, the larger the better
#   blocks  as speed, with the block size as the measure
#   extra   ours - peer, the smaller the better
COMPARE = {"cost": lambda ours, peer: ours / peer,
           "speed": lambda ours, peer: peer / ours,
           "blocks": lambda ours, peer: peer / ours,
           "extra": lambda ours, peer: ours - peer}
HOLDS = {"<=": operator.le, ">=": operator.ge, ">": operator.gt}
COLUMNS = ["key", "measure", "kind", "unit", "ours", "ours_p10", "ours_p90", "peer_name", "peer", "peer_p10",
           "peer_p90", "ratio", "ratio_p10", "ratio_p90", "ratio_min", "ratio_max", "bound", "holds",
           "beside_name", "beside", "beside_ratio", "rounds", "others_cores", "disturbed", "problem",
           "ours_command", "peer_command", "beside_command"]


@dataclasses.dataclass(frozen=True)
class Value:
    """The values called `name` in the samples of the candidate called `candidate`."""
    candidate: str
    name: str


@dataclasses.dataclass(frozen=True)
class Row:
    key: str
    measure: str
    kind: str  # one of COMPARE
    unit: str  # unit of all times of the row
    ours: Value
    peer: Value
    bound: str = ""  # one of HOLDS and a number; empty: no bound
    beside: Value | None = None  # another peer, without a bound

    def values(self):
        return [value for value in (self.ours, self.peer, self.beside) if value]


def quantile(values, part):
    """Between the two nearest values where `part` falls between them."""
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def holds(bound, ratio):
    sign, number = bound.split()
    return HOLDS[sign](ratio, float(number))


def samples_of(value, candidates):
    """The samples, and "" or the reason why they cannot be used."""
    candidate = candidates.get(value.candidate)
    if candidate is None:
        return [], f"{value.candidate}: not run"
    if candidate.failure:
        return [], f"{value.candidate}: {candidate.failure}"
    samples = candidate.samples(value.name)
    if not samples:
        return [], f"{value.candidate}: no value {value.name}"
    if not all(math.isfinite(sample) and sample > 0 for sample in samples):
        return [], f"{value.candidate}: a value of {value.name} is no time"
    return samples, ""


def ratios(kind, ours, peer):
    """The ratio of the medians, and the ratios of the rounds, whose spread tells how far to trust it."""
    compare = COMPARE[kind]
    return compare(statistics.median(ours), statistics.median(peer)), list(map(compare, ours, peer))


def number(value):
    return f"{value:.6g}"


def judge(row, candidates, reason=""):
    """A dictionary by COLUMNS. `candidates` are found by name. A row without a valid result, or with a
    `reason` not to be measured, stays in the table: the column `problem` gives the reason, and its bound
    does not hold."""
    result = dict.fromkeys(COLUMNS, "")
    result.update(key=row.key, measure=row.measure, kind=row.kind, unit=row.unit, bound=row.bound,
                  peer_name=row.peer.candidate, beside_name=row.beside.candidate if row.beside else "")
    result["holds"] = "no" if row.bound else ""
    for column, value in [("ours", row.ours), ("peer", row.peer), ("beside", row.beside)]:
        if value and value.candidate in candidates:
            result[f"{column}_command"] = candidates[value.candidate].command
    ours, our_problem = samples_of(row.ours, candidates)
    peer, peer_problem = samples_of(row.peer, candidates)
    result["problem"] = reason or our_problem or peer_problem
    if not result["problem"] and len(ours) != len(peer):
        result["problem"] = f"{len(ours)} rounds of {row.ours.candidate}, {len(peer)} of {row.peer.candidate}"
    if result["problem"]:
        return result

    ratio, by_round = ratios(row.kind, ours, peer)
    for column, samples in [("ours", ours), ("peer", peer), ("ratio", by_round)]:
        result[column] = number(statistics.median(samples))
        result[f"{column}_p10"] = number(quantile(samples, 0.1))
        result[f"{column}_p90"] = number(quantile(samples, 0.9))
    result.update(ratio=number(ratio), ratio_min=number(min(by_round)), ratio_max=number(max(by_round)),
                  rounds=len(ours))
    if row.bound:
        result["holds"] = "yes" if holds(row.bound, ratio) else "no"
    beside, beside_problem = samples_of(row.beside, candidates) if row.beside else ([], "")
    if beside:
        result["beside"] = number(statistics.median(beside))
        result["beside_ratio"] = number(ratios(row.kind, ours, beside)[0])
    elif beside_problem:
        result["problem"] = beside_problem
    runs = [run for name in {value.candidate for value in row.values()}
            for run in candidates[name].runs if run.counted]
    others = alternate.disturbance(runs)
    result.update(others_cores=f"{others:.2f}", disturbed="yes" if others > alternate.QUIET_CORES else "no")
    return result


def short(value, unit=""):
    """For people: four digits, and an empty text for a missing value."""
    return f"{float(value):.4g}{' ' + unit if unit else ''}" if value != "" else ""


def format_table(results):
    """Text of one line per row, followed by the problems and the trustworthiness of the remaining rows."""
    heading = ["measure", "ours", "peer", "", "ratio", "p10", "p90", "bound", "holds", "other peer", "",
               "others"]
    lines = [heading]
    for result in results:
        unit = result["unit"]
        sort = "" if result["kind"] != "extra" else unit
        lines.append([
            result["measure"], short(result["ours"], unit), short(result["peer"], unit), result["peer_name"],
            short(result["ratio"], sort), short(result["ratio_p10"]), short(result["ratio_p90"]),
            result["bound"], result["holds"], short(result["beside_ratio"]), result["beside_name"],
            result["others_cores"] + ("?" if result["disturbed"] == "yes" else " ")])
    widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
    left = {0, 3, 10}
    text = [" ".join(word.ljust(width) if column in left else word.rjust(width)
                     for column, (word, width) in enumerate(zip(line, widths))).rstrip() for line in lines]
    if any(result["disturbed"] == "yes" for result in results):
        text.append(f"? other processes used more than {alternate.QUIET_CORES} cores: the row tells little")
    text += [f"PROBLEM {result['measure']}: {result['problem']}" for result in results if result["problem"]]
    return "\n".join(text)


def write_csv(path, columns, rows, notes=()):
    """`notes` become leading lines with a #."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {note}\n" for note in notes)
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
