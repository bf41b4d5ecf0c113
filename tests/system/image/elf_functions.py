"""Facts that tests read from the installed libraries: exported functions, and the place of each function."""

import bisect
import collections
import pathlib
import re
import subprocess


def output_of(*command, text=""):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def exported(library):
    """{name: (address, versions)}, functions only."""
    result = {}
    for line in output_of("nm", "-D", "--defined-only", library).splitlines():
        address, kind, name = line.split()
        if kind in "TWi":
            name, _, version = name.partition("@")
            entry = result.setdefault(name, (int(address, 16), set()))
            entry[1].add(version.lstrip("@"))
    return result


class FunctionRanges:
    """The functions of a library by their unwind entries."""

    def __init__(self, library):
        frames = output_of("objdump", "--dwarf=frames", library)
        found = re.findall(r"FDE.*pc=([0-9a-f]+)\.\.([0-9a-f]+)", frames)
        self.ends = dict((int(begin, 16), int(end, 16)) for begin, end in found)
        self.begins = sorted(self.ends)

    def at(self, address):
        place = bisect.bisect_right(self.begins, address) - 1
        begin = self.begins[place] if place >= 0 else None
        return begin if begin is not None and address < self.ends[begin] else None


def read_left_out(path):
    """{"functions", "numbers" ...: names}: lists under lines of the form "[functions] reason"."""
    result = collections.defaultdict(set)
    kind = None
    for line in pathlib.Path(path).read_text().splitlines():
        if match := re.match(r"\[(functions|numbers|variables|descriptors)\] \w+", line):
            kind = match[1]
        elif line and not line.startswith("#"):
            result[kind].update(line.split())
    return result
