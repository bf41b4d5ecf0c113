"""Parts of pages that commands of bench/ write: the lines between two marks."""


def replace(path, marks, lines):
    """Puts the lines between the marks of the page."""
    before, _, rest = path.read_text(encoding="utf-8").partition(marks[0])
    _, mark, after = rest.partition(marks[1])
    if not mark:
        raise SystemExit(f"bench/run: {path} has no lines {marks[0]} and {marks[1]}")
    path.write_text("\n".join([before + marks[0], *lines, marks[1]]) + after, encoding="utf-8")
