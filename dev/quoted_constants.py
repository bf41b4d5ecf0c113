"""Constants that pages quote, compared with the code.

    ... serves 16 <!-- constant: src/coherence/core/parameters.h relay_places --> readers

    The last number before the mark (16, 1,024, 4 KiB, sixteen) is the value of the constant or setting with
    this name in this file.

    ... half of it <!-- code: src/coherence/rules/leases.h (life - shortest) / 2 -->

    The file contains this text; for rules that are no constants.

    `lease_ticks` (1)     `lease_ticks=1`, the default     the default, `lease_ticks=1`

    The default of a setting, quoted in one of these ways, needs no mark.
"""

import re

SETTINGS = "src/config/settings.def"
MARK = re.compile(r"<!--\s*(constant|code):\s*(\S+)\s+(.*?)\s*-->", re.DOTALL)
WORDS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
         "sixteen seventeen eighteen nineteen twenty").split()
UNITS = {"KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30, "TiB": 2 ** 40, "s": 1000, "ms": 1}
DIGITS = rf"(?<![\w.,])(\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\s({'|'.join(UNITS)}))?(?!\w)"
NUMBER = re.compile(DIGITS + rf"|\b({'|'.join(WORDS)})\b", re.IGNORECASE)
SETTING = re.compile(r"^MUSUBI_(?:SETTING\(\w+, (\w+)|CHOICE\((\w+)), ([^,]*),", re.MULTILINE)
NAME_VALUE = r"`(\w+)=([^`]*)`"
DEFAULTS = [re.compile(pattern) for pattern in (
    NAME_VALUE + r"(?:,| is|\s\()\s?(?:the )?default\b",
    r"\bdefault(?:\sis|,|:)?\s\(?" + NAME_VALUE,
    r"`(\w+)`\*?\s\((?:default:?\s)?`?(auto|true|false|\d[\d,]*(?:\s(?:[KMGT]iB|m?s))?)`?(?=[),;]|\sor\b)")]


def number_in(text):
    """The value of a number as pages write it, of a duration in ms, or None."""
    match = NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    digits, unit, word = match.groups()
    if word is not None:
        return WORDS.index(word.lower())
    return int(digits.replace(",", "")) * UNITS.get(unit, 1)


def value_of(expression):
    """The value of an initialiser, of a duration in ms; its text where it is no number, product or shift."""
    text = re.sub(r"(?<=\d)'(?=\d)", "", expression.strip().strip('"'))
    text = re.sub(r"(?:std::chrono::)?\bmilliseconds[({](\d+)[)}]", r"\1", text)
    text = re.sub(r"(?:std::chrono::)?\bseconds[({](\d+)[)}]", r"\1 * 1000", text)
    text = re.sub(r"[\w:]+\{(\d+)\}", r"\1", text)
    text = re.sub(r"\b[KMGT]iB\b", lambda unit: str(UNITS[unit.group()]), text)
    text = re.sub(r"(?<=\d)[uUlL]+\b", "", text)
    if match := re.fullmatch(r"(\d+)(?:\s*(\*|<<)\s*(\d+))?", text):
        left, operator, right = int(match.group(1)), match.group(2), int(match.group(3) or 1)
        return left << right if operator == "<<" else left * right
    return "auto" if text == "nullopt" else text


def constant_in(source, name):
    """The value that a source gives to a constant or setting, or None."""
    for setting, choice, value in SETTING.findall(source):
        if name in (setting, choice):
            return value_of(value)
    match = re.search(rf"\b{re.escape(name)}\s*=\s*([^;,=]+)[;,]", source)
    return value_of(match.group(1)) if match else None


def defaults_in(text):
    """The defaults of settings that a page quotes, each with its place: (place, name, value)."""
    for pattern in DEFAULTS:
        for match in pattern.finditer(text):
            yield match.start(), match.group(1), match.group(2)


class Checker:
    """Checks pages of one tree. A finding says page, line, the value quoted and the true one."""

    def __init__(self, root):
        self.root = root
        self.sources = {}
        settings = self.source(SETTINGS) or ""
        self.defaults = {setting or choice: value_of(value)
                         for setting, choice, value in SETTING.findall(settings)}

    def source(self, name):
        if name not in self.sources:
            path = self.root / name
            self.sources[name] = path.read_text(encoding="utf-8") if path.is_file() else None
        return self.sources[name]

    def wrong_mark(self, kind, name, what, before):
        """The error of a mark after the text `before`, or None."""
        source = self.source(name)
        if source is None:
            return f"{name} is not there"
        if kind == "code":
            flat = " ".join(what.split())
            return None if flat in " ".join(source.split()) else f"{name} does not contain: {flat}"
        true = constant_in(source, what)
        if true is None:
            return f"{name} has no constant {what}"
        numbers = list(NUMBER.finditer(MARK.sub("", before)))
        quoted = numbers[-1].group(0) if numbers else "nothing"
        if numbers and number_in(quoted) == true:
            return None
        return f"{what} is quoted as {quoted}, and is {true} in {name}"

    def findings(self, page):
        text = (self.root / page).read_text(encoding="utf-8")

        def finding(place, wrong):
            return f"{page}:{text.count(chr(10), 0, place) + 1}: {wrong}"

        for mark in MARK.finditer(text):
            before = text[text.rfind("\n\n", 0, mark.start()) + 1:mark.start()]
            if wrong := self.wrong_mark(*mark.groups(), before):
                yield finding(mark.start(), wrong)
        for place, name, quoted in defaults_in(text):
            if name not in self.defaults:
                continue
            true = self.defaults[name]
            number = number_in(quoted)
            if quoted.strip() != str(true) and (number is None or number != true):
                yield finding(place, f"the default of {name} is quoted as {quoted.strip()}, and is {true}")
