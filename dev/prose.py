"""The English of comments and pages: how often it uses words that make a sentence hard to read."""

import io
import re
import tokenize

import source_tree

C_LIKE = source_tree.CODE
HASH = {".sh", ".txt", ".cmake", ".in", ".toml"}
SUFFIXES = C_LIKE | HASH | {".py", ".f90", ".md", ""}
PLACES = 10  # shown for each word above its bound

# The words, the most uses of them in 1,000 words, and the words to take instead. Each bound is the rate of
# LevelDB, snmalloc and UCX, or a little more.
WORDS = [
    (("nobody",), 0, "`no rank`, `no thread`, `no one`"),
    (("whoever",), 0, "`a rank that ...`"),
    (("anew",), 0, "`again`"),
    (("by turns",), 0, "`in turn`, `alternately`, `round-robin`"),
    (("meanwhile",), 0, "`in the meantime`, or nothing"),
    (("beside", "besides"), 0.02, "`next to`, `in addition to`"),
    (("behind",), 0.1, "`after`, `following`"),
    (("what",), 0.4, "the noun: `the bytes received`"),
    (("others",), 0.1, "the noun: `other ranks`, `other threads`"),
]
# Sentences that begin with these words often have a clause as their subject.
FIRST_WORDS = ("What", "Who", "Of", "Where", "That", "Those", "One", "There")
FIRST_WORDS_BOUND = 2  # per 100 sentences

C_TOKEN = re.compile(
    r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:.|\n)*?\*/')
NO_PROSE = re.compile(r"`[^`]*`|https?:\S+|\]\([^)]*\)|<!--.*?-->|clang-format (?:on|off)|NOLINT\S*")
WORD = re.compile(r"[A-Za-z][A-Za-z']*")
SENTENCE_END = re.compile(r"[.!?|](?:\s+|$)")


def c_comments(text, with_literals):
    """(line, text) of each line of a comment, and of each string when users see the strings."""
    for token in C_TOKEN.finditer(text):
        first, part = text.count("\n", 0, token.start()) + 1, token.group()
        if part.startswith(("//", "/*")):
            for number, line in enumerate(part.splitlines(), first):
                yield number, line.strip().strip("/*").strip()
        elif with_literals and part.startswith('"'):
            yield first, part.strip('"')


def python_comments(text):
    """As above: comments, and strings that are statements."""
    fresh = True
    for kind, part, (first, _), _, _ in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind == tokenize.COMMENT and not part.startswith("#!"):
            yield first, part.lstrip("# ")
        elif kind == tokenize.STRING and fresh:
            for number, line in enumerate(part.splitlines(), first):
                yield number, line.strip().strip('"').strip()
        if kind not in (tokenize.COMMENT, tokenize.NL):
            fresh = kind in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def marked_comments(text, mark):
    """Comments from a mark, that a blank precedes, to the end of the line."""
    comment = re.compile(rf"(?:^|\s){mark}(?!!)(.*)")
    for number, line in enumerate(text.splitlines(), 1):
        found = comment.search(line)
        if found:
            yield number, found.group(1).strip(f"{mark} ")


def page(text):
    """Lines of a page that are no code."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith("    "):
            item = re.match(r"\s*(?:[-*|#>]+|\d+\.)\s+", line)
            yield number, ("| " if item else "") + line[item.end() if item else 0:]


def prose(path, text):
    """(line, text) of each line that holds English."""
    if path.suffix == ".md":
        return page(text)
    if path.suffix in C_LIKE:
        return c_comments(text, path.suffix == ".def")
    if path.suffix == ".py" or text.startswith("#!") and "python" in text.partition("\n")[0]:
        return python_comments(text)
    return marked_comments(text, "!" if path.suffix == ".f90" else "#")


class Prose:
    """Counts in the texts of one kind."""

    def __init__(self, kind):
        self.kind, self.words, self.sentences = kind, 0, 0
        self.places = {words: [] for words, *_ in WORDS}
        self.first_words = []

    def add(self, path, text):
        last, begins = None, True
        for number, raw in prose(path, text):
            line = NO_PROSE.sub("it", raw)
            if last is None or number > last + 1:
                begins = True
            last = number
            self.words += len(WORD.findall(line))
            for words, places in self.places.items():
                for word in re.findall(rf"\b(?:{'|'.join(words)})\b", line, re.IGNORECASE):
                    places.append((path, number, word))
            begins = self.add_sentences(path, number, line, begins)

    def add_sentences(self, path, number, line, begins):
        """Result: whether the next line begins a sentence."""
        at = 0
        for end in [*SENTENCE_END.finditer(line), None]:
            word = WORD.search(line, at, end.start() if end else len(line))
            if word and begins:
                self.sentences += 1
                if word.group() in FIRST_WORDS:
                    self.first_words.append((path, number, word.group()))
            begins = bool(end) or begins and not word
            at = end.end() if end else at
        return begins

    def findings(self):
        for words, bound, instead in WORDS:
            places = self.places[words]
            rate = 1000 * len(places) / max(self.words, 1)
            if rate > bound:
                yield self.finding(f"{rate:.2f} uses of {'/'.join(words)} in 1,000 words, at most {bound}",
                                   places, instead)
        rate = 100 * len(self.first_words) / max(self.sentences, 1)
        if rate > FIRST_WORDS_BOUND:
            yield self.finding(f"{rate:.1f} % of the sentences begin with {', '.join(FIRST_WORDS)}; "
                               f"at most {FIRST_WORDS_BOUND} %", self.first_words, "the subject as a noun")

    def finding(self, rate, places, instead):
        shown = [f"  {path}:{number}: {word}; take {instead}" for path, number, word in places[:PLACES]]
        return "\n".join([f"{self.kind}: {rate}", *shown])


def findings(root):
    """Findings of the tree below `root`: comments are one sum, pages another."""
    comments, pages = Prose("comments"), Prose("pages")
    for path in source_tree.files(root, SUFFIXES):
        text = source_tree.text(root / path)
        if text is None or path.name == "LICENSE":
            continue
        (pages if path.suffix == ".md" else comments).add(path, text)
    return [*comments.findings(), *pages.findings()]
