"""Reference pages from the public headers: a header's first comment opens the page; each later comment
describes the declarations after it, up to the next comment that begins a line."""

import re

BLOCK = re.compile(r"/\*(.*?)\*/\n(.*?)(?=^/\*|\Z)", re.DOTALL | re.MULTILINE)
NAMES = re.compile(r"^(?:[\w ]+[ *]+)?(\w+)\(|^#define (\w+)|^typedef .*?(\w+);|^} (\w+);", re.MULTILINE)
# Lines that are neither declarations nor text for readers.
FRAME = re.compile(r'^(#if.*|#endif|#include.*|#define \w+_H|extern "C" \{|\}|__attribute__.*)$')


def paragraphs(comment):
    """The paragraphs of a comment. Lines that are indented by four spaces become a block of code."""
    lines = [re.sub(r"^ \*? ?", "", line).rstrip() for line in comment.strip().splitlines()]
    found, current = [], []
    for line in lines + [""]:
        if line:
            current.append(line)
        elif current and current[0].startswith("    "):
            found.append("\n".join(["```c", *(part[4:] for part in current), "```"]))
            current = []
        elif current:
            found.append(" ".join(current))
            current = []
    return found


def declarations(code):
    lines = [line for line in code.splitlines() if not FRAME.match(line)]
    return re.sub(r"\n{2,}", "\n", "\n".join(lines)).strip()


def title(code):
    names = ["".join(match) for match in NAMES.findall(code)]
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names)) or "Constants"


def section(header, level):
    """The lines of the page for one header: (opening paragraphs, sections)."""
    blocks = BLOCK.findall(header)
    opening = paragraphs(blocks[0][0])
    lines = []
    for comment, code in [("", blocks[0][1]), *blocks[1:]]:
        code = declarations(code)
        if not code:
            continue
        lines += ["", f"{'#' * level} {title(code)}", "", "```c", code, "```", ""]
        lines += "\n\n".join(paragraphs(comment)).splitlines()
    return opening, lines


def page(name, headers):
    """The page of the header `name`; `headers`: the texts of this header and of those that it includes."""
    made = [f"# {name}", "",
            f"This page is made from the comments of `include/musubi/{name}` by `dev/make_docs`;",
            "do not edit it by hand.", ""]
    opening, lines = section(headers[0], 2)
    made += "\n\n".join(opening).splitlines() + lines
    for header in headers[1:]:
        opening, lines = section(header, 3)
        subject = opening[0].removeprefix(f"Part of {name}: ")
        made += ["", f"## {subject[0].upper()}{subject[1:].rstrip('.')}"]
        made += [line for text in opening[1:] for line in ("", text)] + lines
    return "\n".join(made).replace("\n\n\n", "\n\n") + "\n"
