"""The pages of all rules. ``rules`` has a Markdown file for each number that toolc can print.

A file starts with front matter. It has the number, and for each code of that number the name, slug and severity, and
``enabled: false`` if the code is off by default. Names, and everything about the rules of a review, are declared only
here. The slug and severity of a check are repeated from ``toolc.model.codes``. The body is an explanation, followed by
two examples: ``## Bad`` and ``## Good`` for a check, or ``## Before`` and ``## After`` for a review rule. An example is
the fenced block ``name=tool.yaml``. Other blocks of the first example are files that both examples need. In a block
marked ``escape``, ``\\xe9`` is a byte and ``\\u200b`` a character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from toolc.dataclass import dataclass, field

EXAMPLE: Final = "tool.yaml"
"""The name of the file that contains an example."""

_FAMILIES: Final = ("TC", "CON", "RSK", "SUR", "PRV")
"""The prefixes of all numbers, in the order of the list of pages."""
_FRONT: Final = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_ENTRY: Final = re.compile(r"(?:  - |    )(name|slug|severity|enabled): (.+)")
_SECTION: Final = re.compile(r"^## (Bad|Good|Before|After)\n", re.MULTILINE)
_BLOCK: Final = re.compile(r"^```\w* name=(\S+)( escape)?\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(\\))")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCode:
    """A code of a page. ``name`` is a title of one line, and ``severity`` the highest that a finding can have."""

    name: str
    slug: str
    severity: str
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePage:
    """The page of one number.

    ``explanation`` is Markdown that says why the finding matters and what to do. ``bad`` is a spec with findings of
    this number, and ``good`` is the corrected spec without any finding. ``before`` and ``after`` are two versions of a
    spec with a change of this number. Parts that a page lacks are empty. Both examples need the ``extra_files``, which
    are listed by path. A byte that is not UTF-8 is a surrogate, as the error handler ``surrogateescape`` defines it.
    """

    number: str
    codes: tuple[PageCode, ...]
    explanation: str
    bad: str = ""
    good: str = ""
    before: str = ""
    after: str = ""
    extra_files: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name of the first code."""
        return self.codes[0].name


@cache
def rule_pages() -> Mapping[str, RulePage]:
    """Return every page by its number: the checks first, then the rules of a review."""
    found = (
        parse_page(each.read_text(encoding="utf-8"))
        for each in files("toolc.data").joinpath("rules").iterdir()
        if each.name.endswith(".md")
    )
    return {page.number: page for page in sorted(found, key=lambda page: _order(page.number))}


def parse_page(text: str) -> RulePage:
    """Parse a page. Raises ``ValueError`` for a text without the form that this module describes."""
    front = _FRONT.match(text)
    if front is None:
        raise ValueError("a page starts with front matter between two lines '---'")
    number, codes = _parse_front_matter(front[1])
    explanation, *sections = _SECTION.split(text[front.end() :])
    examples: dict[str, str] = {}
    extra_files: dict[str, str] = {}
    for title, content in zip(sections[::2], sections[1::2], strict=True):
        blocks = {name: _unescape(block) if escape else block for name, escape, block in _BLOCK.findall(content)}
        examples[title.lower()] = blocks.pop(EXAMPLE)
        extra_files |= blocks
    return RulePage(
        number=number, codes=codes, explanation=explanation.strip() + "\n", extra_files=extra_files, **examples
    )


def _parse_front_matter(text: str) -> tuple[str, tuple[PageCode, ...]]:
    head, *lines = text.split("\n")
    entries: list[dict[str, str]] = []
    if not head.startswith("number: ") or lines[:1] != ["codes:"]:
        raise ValueError("front matter has a number, then codes")
    for line in lines[1:]:
        found = _ENTRY.fullmatch(line)
        if found is None:
            raise ValueError(f"not a line of front matter: {line!r}")
        if line.startswith("  - "):
            entries.append({})
        entries[-1][found[1]] = found[2]
    codes = tuple(
        PageCode(
            name=each["name"], slug=each["slug"], severity=each["severity"], enabled=each.get("enabled") != "false"
        )
        for each in entries
    )
    return head.removeprefix("number: "), codes


def _unescape(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        if found[1]:
            return bytes([int(found[1], 16)]).decode("utf-8", "surrogateescape")
        return chr(int(found[2], 16)) if found[2] else "\\"

    return _ESCAPE.sub(character, text)


def _order(number: str) -> tuple[int, str]:
    return _FAMILIES.index(number.rstrip("0123456789")), number
