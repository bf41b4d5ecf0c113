"""The files of a source tree, as the checks in this folder see them."""

import argparse
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
GENERATED = {"build", ".git", ".cache", "__pycache__"}
CODE = {".h", ".hpp", ".c", ".cpp", ".inc", ".def", ".S"}
TEXT = CODE | {".md", ".py", ".txt", ".cmake", ".json", ".map", ".sh", ""}


def arguments(description, **extra):
    """Parses --root, and an option --<name> with a default for each of `extra`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="tree to look at")
    for name, (default, meaning) in extra.items():
        if isinstance(default, bool):
            parser.add_argument(f"--{name}", action="store_true", help=meaning)
        else:
            parser.add_argument(f"--{name}", default=default, help=meaning)
    return parser.parse_args()


def files(root, suffixes, *folders):
    """Paths below `root` with one of the suffixes, relative to it, in a fixed order."""
    found = []
    for start in folders or (".",):
        for folder, children, names in os.walk(root / start):
            children[:] = sorted(child for child in children if child not in GENERATED)
            for name in sorted(names):
                path = pathlib.Path(folder, name)
                if (name not in GENERATED and path.suffix in suffixes and path.is_file()
                        and not path.is_symlink()):
                    found.append(path.relative_to(root))
    return found


LAYERED = ("src", "simulator")  # their subfolders are layers (layers.txt)


def as_included(path):
    """The path by which sources include this one: relative to src, or to the root (simulator/)."""
    return path.relative_to("src") if path.parts[0] == "src" else path


def included_file(root, include):
    """The layered file that an include names, or None when there is none."""
    for path in (root / "src" / include, root / include):
        if path.is_file() and path.relative_to(root).parts[0] in LAYERED:
            return path
    return None


def text(path):
    """The file's text, or None when it holds none (a program)."""
    data = path.read_bytes()
    if b"\0" in data:
        return None
    return data.decode("utf-8", errors="replace")


def report(name, findings, looked_at):
    """Prints the findings, one line each. Result: the exit status."""
    for finding in findings:
        print(finding)
    if not looked_at:
        print(f"{name}: nothing to look at")
        return 1
    print(f"{name}: {len(findings)} findings in {looked_at} files")
    return 1 if findings else 0
