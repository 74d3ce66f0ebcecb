r"""Read regular expressions of ECMA-262 with the ``u`` flag, the language of patterns in JSON Schema.

Python's ``re`` reads them differently: its ``$`` also matches before a final line feed, its ``\d`` matches digits of
all scripts, and it has no ``\p{L}``. ``translate`` returns the Python pattern with the same meaning. With the ``u``
flag, ``\-`` and a lone ``]`` are errors. Other engines agree on their meaning, so they are accepted with a remark.

Syntax: https://tc39.es/ecma262/#sec-patterns
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.model.text import lazy_re
from toolc.validation.character_sets import (
    DIGITS,
    LAST,
    LINE_ENDS,
    SPACE,
    WORD,
    Ranges,
    complement,
    property_members,
    union,
)
from toolc.validation.ecma_advice import (
    ADVICE_ON_ESCAPES,
    ADVICE_ON_GROUPS,
    POSIX_CLASSES,
    PYTHON_ANCHORS,
    PYTHON_CONTROLS,
    advice_on_property,
)
from toolc.validation.ecma_tree import (
    EMPTY,
    MAX_WRITTEN,
    TOO_LARGE,
    Assertion,
    Choice,
    Group,
    Lookaround,
    Node,
    PatternError,
    Reference,
    Repeat,
    Sequence,
    Set,
    UnsupportedPatternError,
    write,
)

MAX_LENGTH: Final = 10_000
"""The maximum number of characters of a pattern. This is a hundred times the longest pattern of the test corpus.

Analyzing a pattern can take quadratic time.
"""

MAX_DEPTH: Final = 50
"""The maximum depth of groups in a pattern. Python's parser needs several stack frames per group."""

_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")
_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_CLASSES: Final = {
    "d": DIGITS, "D": complement(DIGITS), "w": WORD, "W": complement(WORD), "s": SPACE, "S": complement(SPACE),
}  # fmt: skip
_ASSERTIONS: Final = {"b": r"(?a:\b)", "B": r"(?!(?a:\b))"}  # \B of Python does not match the empty text
_ANCHORS: Final = {"^": "^", "$": r"\Z"}
_LOOKAROUNDS: Final = ("(?=", "(?!", "(?<=", "(?<!")

_QUANTIFIER: Final = lazy_re(r"[*+?]|\{(?P<least>[0-9]+)(?P<comma>,(?P<most>[0-9]+)?)?\}|\{,(?P<upto>[0-9]+)\}")
_HEX: Final = lazy_re(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{0*([0-9A-Fa-f]{1,7})\}")
_TRAIL: Final = lazy_re(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_CONTROL: Final = lazy_re(r"\\(?:c([A-Za-z])|0(?![0-9]))")
_DECIMAL: Final = lazy_re(r"\\([1-9][0-9]{0,8})")
_NAME_TEXT: Final = r"(?P<name>(?:[^<>()\[\]\\]|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\}){1,200})>"
_ESCAPED: Final = lazy_re(r"\\u(?:([0-9A-Fa-f]{4})|\{([0-9A-Fa-f]{1,6})\})")
_NAME: Final = lazy_re(f"<{_NAME_TEXT}")
_NAMED_GROUP: Final = lazy_re(rf"\(\?(?P<python>P?)<{_NAME_TEXT}")
_PROPERTY: Final = lazy_re(r"[pP](?:\{(?:(?P<name>[A-Za-z_]+)=)?(?P<value>[A-Za-z0-9_]+)\})?")
_SHORT_PROPERTY: Final = lazy_re(r"[pP](?P<name>[LMNPSZC])")
_POSIX: Final = lazy_re(r"\[:\^?([a-z]+):\]")
_PYTHON_PART: Final = lazy_re(r"\(\?P=(?P<name>\w+)\)|\(\?#[^)]*\)")
_PYTHON_HEX: Final = lazy_re(r"U([0-9A-Fa-f]{8})|x\{([0-9A-Fa-f]{1,6})\}")
_OTHER_GROUP: Final = lazy_re(r"(?s)\(\?(?:-?[a-zA-Z]+(?:-[a-z]+)?[:)]|P?[<>=!'(|#&+-]|.)?")


@dataclass(frozen=True, slots=True)
class Remark:
    """A part of a pattern that ECMA-262 does not allow, but whose meaning is clear.

    ``text`` means the same in ECMA-262, and can replace the characters from ``start`` to ``end``. ``is_common`` is True
    if the part has this meaning in most engines and in ECMA-262 without the ``u`` flag.
    """

    start: int
    end: int
    text: str
    is_common: bool


@dataclass(frozen=True, slots=True)
class Translation:
    """A Python pattern with the meaning of an ECMA-262 pattern, and a remark for each part that is not ECMA-262."""

    python: str
    remarks: tuple[Remark, ...]


def translate(pattern: str) -> Translation:
    """Translate an ECMA-262 pattern.

    Raises ``PatternError`` if it is invalid, and ``UnsupportedPatternError`` if it has no equivalent in Python.
    """
    found = _translated(pattern)
    if isinstance(found, PatternError):
        raise found.with_traceback(None)
    return found


def size_in_python(pattern: str) -> int:
    """Return the number of characters that ``translate`` writes, even if it fails because the result is too large."""
    found = _translated(pattern)
    if isinstance(found, PatternError):
        return MAX_WRITTEN if str(found) == TOO_LARGE else 0
    return len(found.python)


@lru_cache(maxsize=1024)
def _translated(pattern: str) -> Translation | PatternError:
    if len(pattern) > MAX_LENGTH:
        message = f"a pattern of {len(pattern)} characters is too long"
        return UnsupportedPatternError(message, 0, 0, f"use at most {MAX_LENGTH} characters")
    reader = _PatternReader(pattern)
    try:
        root = reader.read()
        return Translation(write(root, reader.names), tuple(reader.remarks))
    except PatternError as error:
        return error.with_traceback(None)


@dataclass(slots=True)
class _PatternReader:
    """Reads a pattern from left to right. ``at`` is the index of the next character."""

    pattern: str
    at: int = 0
    depth: int = 0
    groups: int = 0
    names: dict[str, int] = field(default_factory=dict)
    references: list[Reference] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    empty_class: int = -1

    def read(self) -> Node:
        """Return the tree of the pattern."""
        root = self._alternatives()
        if self.at < len(self.pattern):
            raise self._error("unmatched ')'", 1, "write \\) for the character")
        for each in self.references:
            if isinstance(each.group, str) and each.group not in self.names:
                raise PatternError(f"there is no group '{each.group}'", each.start, each.end)
            if isinstance(each.group, int) and each.group > self.groups:
                hint = "write the character as \\xHH, with two hexadecimal digits"
                raise PatternError(f"there is no group {each.group}", each.start, each.end, hint)
        return root

    def _error(self, message: str, length: int, hint: str = "") -> PatternError:
        return PatternError(message, self.at, min(self.at + length, len(self.pattern)), hint)

    def _remark(self, length: int, text: str, *, is_common: bool) -> None:
        self.remarks.append(Remark(self.at, self.at + length, text, is_common))

    def _starts(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def _next(self) -> str:
        """Return the next character without reading it, or an empty string at the end."""
        return self.pattern[self.at : self.at + 1]

    def _alternatives(self) -> Node:
        found = [self._sequence()]
        while self._next() == "|":
            self.at += 1
            found.append(self._sequence())
        return found[0] if len(found) == 1 else Choice(tuple(found))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._next() not in {"", "|", ")"}:
            start = self.at
            parts.append(self._repeated(self._term(), start))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _term(self) -> Node:
        """Read one term without its quantifier."""
        character = self._next()
        match character:
            case "(" if found := _PYTHON_PART.match(self.pattern, self.at):
                return self._python_part(found)
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escape()
            case "^" | "$":
                self.at += 1
                return Assertion(_ANCHORS[character])
            case "*" | "+" | "?":
                raise self._error(f"nothing to repeat before '{character}'", 1, f"write \\{character}")
            case "{" if found := _QUANTIFIER.match(self.pattern, self.at):
                raise self._error(f"nothing to repeat before '{found[0]:.20}'", len(found[0]), "write \\{")
            case "]" if self.empty_class >= 0:
                message = "unmatched ']', because the ']' right after the '[' ended the class"
                raise self._error(message, 1, f"write \\] for the first ']', at position {self.empty_class}")
            case "{" | "}" | "]":
                self._remark(1, f"\\{character}", is_common=True)
            case _:
                pass
        self.at += 1
        return Set(complement(LINE_ENDS) if character == "." else _one(ord(character)))

    def _repeated(self, part: Node, start: int) -> Node:
        """Return ``part``, with the quantifier that follows it if there is one."""
        found = _QUANTIFIER.match(self.pattern, self.at)
        if not found:
            return part
        is_group = self.pattern.startswith("(?:", start)
        if part is EMPTY or (isinstance(part, Assertion | Lookaround) and not is_group):
            hint = "remove the quantifier, which has no effect on an assertion"
            raise self._error(f"'{found[0]:.20}' cannot repeat an assertion", len(found[0]), hint)
        if found["upto"]:
            self._remark(len(found[0]), f"{{0,{found['upto']}}}", is_common=False)
        least, most = _counts(found)
        if most < least:
            raise self._error(f"the minimum of '{found[0]:.40}' is larger than the maximum", len(found[0]))
        self.at = found.end()
        mark = "?" if self._next() == "?" else ""
        self.at += len(mark)
        if again := _QUANTIFIER.match(self.pattern, self.at):
            hint = "put the repeated part in a group, as in (?:a*)*"
            if again[0] == "+" and not mark:
                hint = (
                    f"ECMA-262 has no possessive quantifiers; write '{self.pattern[start : self.at]:.40}' without the +"
                )
            raise self._error(f"'{again[0]:.20}' follows another quantifier", len(again[0]), hint)
        return Repeat(part, least, most, mark)

    def _group(self) -> Node:
        start = self.at
        opening = next((each for each in (*_LOOKAROUNDS, "(?:") if self._starts(each)), "")
        self.at += len(opening)
        number = 0 if opening else self._open_capture()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            hint = f"use at most {MAX_DEPTH} levels"
            raise UnsupportedPatternError("groups are nested too deeply", start, self.at, hint)
        body = self._alternatives()
        self.depth -= 1
        if self._next() != ")":
            raise PatternError("this group is not closed", start, start + 1, "add ), or write \\( for the character")
        self.at += 1
        if opening in _LOOKAROUNDS:
            return Lookaround(opening, body, start, self.at)
        return Group(number, body) if number else body

    def _open_capture(self) -> int:
        """Read the start of a capturing group and return its number."""
        self.groups += 1
        if not self._starts("(?"):
            self.at += 1
            return self.groups
        found = _NAMED_GROUP.match(self.pattern, self.at)
        if not found:
            raise self._unknown_group()
        name = _decoded(found["name"])
        if not name.replace("$", "_").isidentifier():
            raise self._error(f"'{name:.40}' is not a valid group name", len(found[0]), "use letters and _")
        if name in self.names:
            raise self._error(f"the group name '{name:.40}' is used twice", len(found[0]), "use unique names")
        if found["python"]:
            self._remark(len(found[0]), f"(?<{name}>", is_common=False)
        self.names[name] = self.groups
        self.at = found.end()
        return self.groups

    def _unknown_group(self) -> PatternError:
        found = _OTHER_GROUP.match(self.pattern, self.at)
        assert found
        hint = next((text for part, text in ADVICE_ON_GROUPS.items() if re.match(part, found[0][2:])), "")
        return self._error(f"'{found[0]}' does not start a group in ECMA-262", len(found[0]), hint)

    def _python_part(self, found: re.Match[str]) -> Node:
        """Read a reference or a comment in Python's syntax."""
        name, end = found["name"], found.end()
        self._remark(len(found[0]), f"\\k<{name}>" if name else "", is_common=False)
        if name:
            return self._reference(name, end)
        self.at = end
        return EMPTY

    def _assertion(self, text: str, end: int) -> Assertion:
        self.at = end
        return Assertion(text)

    def _reference(self, group: int | str, end: int) -> Node:
        node = Reference(group, self.at, end)
        self.references.append(node)
        self.at = end
        return node

    def _escape(self) -> Node:
        """Read an escape sequence outside a character class."""
        after = self.pattern[self.at + 1 : self.at + 2]
        if after in _ASSERTIONS:
            return self._assertion(_ASSERTIONS[after], self.at + 2)
        if after in PYTHON_ANCHORS:
            text = PYTHON_ANCHORS[after]
            self._remark(2, text, is_common=False)
            return self._assertion(_ANCHORS[text], self.at + 2)
        if after == "k":
            name = _NAME.match(self.pattern, self.at + 2)
            if not name:
                raise self._error("'\\k' must be followed by the name of a group", 2, "write \\k<name>")
            return self._reference(_decoded(name[1]), name.end())
        if found := _DECIMAL.match(self.pattern, self.at):
            return self._reference(int(found[1]), found.end())
        return Set(self._character_escape(is_class=False))

    def _character_escape(self, *, is_class: bool) -> Ranges:
        """Read an escape sequence for one or several characters, inside or outside a character class."""
        after = self.pattern[self.at + 1 : self.at + 2]
        if after in _CLASSES:
            return self._characters(_CLASSES[after], 2)
        if after in _CONTROLS:
            return self._characters(_one(_CONTROLS[after]), 2)
        if after in _SYNTAX or (is_class and after == "-"):
            return self._characters(_one(ord(after)), 2)
        if is_class and after == "b":
            return self._characters(_one(8), 2)
        if after in {"p", "P"}:
            return self._property()
        if found := _CONTROL.match(self.pattern, self.at):
            return self._characters(_one(ord(found[1]) % 32 if found[1] else 0), len(found[0]))
        if after in {"x", "u"} and (found := _HEX.match(self.pattern, self.at + 1)):
            return self._hexadecimal(found)
        if after and not (after.isascii() and after.isalnum()):
            self._remark(2, after, is_common=True)
            return self._characters(_one(ord(after)), 2)
        return self._unknown_escape(after, is_class=is_class)

    def _characters(self, ranges: Ranges, length: int) -> Ranges:
        self.at += length
        return ranges

    def _hexadecimal(self, found: re.Match[str]) -> Ranges:
        point = int(next(filter(None, found.groups())), 16)
        if point > LAST:
            raise self._error(f"'\\{found[0]:.20}' is not a character", len(found[0]) + 1, "the last is \\u{10FFFF}")
        self.at = found.end()
        is_lead = found[2] is not None and 0xD800 <= point <= 0xDBFF
        if is_lead and (trail := _TRAIL.match(self.pattern, self.at)):
            self.at = trail.end()
            point = 0x10000 + (point - 0xD800) * 0x400 + int(trail[1], 16) - 0xDC00
        return _one(point)

    def _property(self) -> Ranges:
        found = _PROPERTY.match(self.pattern, self.at + 1)
        assert found
        written = f"\\{found[0]}"
        if not found["value"]:
            if short := _SHORT_PROPERTY.match(self.pattern, self.at + 1):
                name = short["name"]
                self._remark(len(short[0]) + 1, f"\\{short[0][0]}{{{name}}}", is_common=False)
                members, length = property_members(name, ""), len(short[0]) + 1
                assert members is not None
                return self._characters(members if short[0][0] == "p" else complement(members), length)
            raise self._error(
                f"'{written}' must be followed by a property", len(written), "write e.g. \\p{L} for letters"
            )
        members = property_members(*((found["name"], found["value"]) if found["name"] else (found["value"], "")))
        if members is None:
            message = f"{written:.60} is not a property that toolc knows"
            hint = advice_on_property(found["value"])
            raise UnsupportedPatternError(message, self.at, self.at + len(written), hint)
        return self._characters(members if found[0][0] == "p" else complement(members), len(written))

    def _unknown_escape(self, after: str, *, is_class: bool) -> Ranges:
        if found := _PYTHON_HEX.match(self.pattern, self.at + 1):
            point = int(found[1] or found[2], 16)
            if point <= LAST:
                self._remark(len(found[0]) + 1, f"\\u{{{point:X}}}", is_common=False)
                return self._characters(_one(point), len(found[0]) + 1)
        if after in PYTHON_CONTROLS:
            point = PYTHON_CONTROLS[after]
            self._remark(2, f"\\x{point:02x}", is_common=False)
            return self._characters(_one(point), 2)
        if not after:
            raise self._error("a pattern cannot end with a backslash", 1, "write \\\\ for the character")
        hint = ADVICE_ON_ESCAPES.get(after, f"write {after} for the character")
        if is_class and after in PYTHON_ANCHORS:
            hint = f"write {after} for the character"
        raise self._error(f"'\\{after}' is not an escape sequence of ECMA-262", 2, hint)

    def _class(self) -> Node:
        """Read a character class."""
        start = self.at
        is_negated = self._starts("[^")
        self.at += 1 + is_negated
        if self._next() == "]":
            self.empty_class = self.at
        found: list[Ranges] = []
        while self._next() != "]":
            if not self._next():
                raise PatternError("this character class is not closed", start, start + 1, "add ], or write \\[")
            found.append(self._class_range())
        self.at += 1
        ranges = union(found)
        return Set(complement(ranges) if is_negated else ranges)

    def _class_range(self) -> Ranges:
        """Read one character or range of a class."""
        start = self.at
        first = self._class_member()
        if self._next() != "-" or self.pattern[self.at + 1 : self.at + 2] in {"]", ""}:
            return first
        dash = self.at
        self.at += 1
        last = self._class_member()
        if _is_one(first) and _is_one(last):
            if first > last:
                raise PatternError(
                    f"the range '{self.pattern[start : self.at]:.40}' is reversed", start, self.at,
                    "write the smaller character first, or \\- for a hyphen",
                )  # fmt: skip
            return ((first[0][0], last[0][0]),)
        # An engine without the u flag reads a hyphen next to a class as the character.
        self.remarks.append(Remark(dash, dash + 1, "\\-", is_common=True))
        return union((first, last, _one(ord("-"))))

    def _class_member(self) -> Ranges:
        if found := _POSIX.match(self.pattern, self.at):
            hint = POSIX_CLASSES.get(found[1], "list the characters")
            raise self._error(f"'{found[0]:.20}' is not a class of ECMA-262", len(found[0]), hint)
        if self._next() == "\\":
            return self._character_escape(is_class=True)
        return self._characters(_one(ord(self._next())), 1)


def _decoded(name: str) -> str:
    """Return the name of a group without escape sequences."""
    return _ESCAPED.sub(lambda found: chr(min(int(found[1] or found[2], 16), LAST)), name)


def _one(point: int) -> Ranges:
    return ((point, point),)


def _is_one(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _counts(found: re.Match[str]) -> tuple[int, float]:
    match found[0]:
        case "*":
            return 0, math.inf
        case "+":
            return 1, math.inf
        case "?":
            return 0, 1
        case _ if found["upto"]:
            return 0, _count(found["upto"])
        case _:
            least = _count(found["least"])
            most = _count(found["most"]) if found["most"] else math.inf if found["comma"] else least
            return least, most


def _count(digits: str) -> int:
    return int(digits.lstrip("0")[:12] or "0")  # longer than any text
