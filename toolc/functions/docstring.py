"""What a docstring says to a model: what the function is for, and what each argument means.

``Args:`` is read as the Google Python Style Guide (3.8.3) has it, ``:param name:`` as Sphinx has it.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Final

_SECTION: Final = re.compile(
    r"(?:Args|Arguments|Parameters|Returns?|Raises|Yields?|Examples?|Notes?|Attributes):\s*$"
)
_ARGUMENTS: Final = re.compile(r"(?:Args|Arguments|Parameters):\s*$")
_ARGUMENT: Final = re.compile(r"\s+\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)")
_FIELD: Final = re.compile(r":(\w+)(?:\s+[^:]*?(\w+))?:\s*(.*)")


@dataclass(slots=True)
class Words:
    """``description`` is all before the first section; ``arguments`` are described by name."""

    description: str = ""
    arguments: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Words:
    """Read a docstring; one that follows neither convention is all description."""
    words = Words()
    told: list[str] = []
    current, indent, in_arguments, told_all = "", 0, False, False
    for line in inspect.cleandoc(text or "").splitlines():
        if _SECTION.match(line):
            in_arguments, told_all, current = bool(_ARGUMENTS.match(line)), True, ""
        elif found := _FIELD.match(line):
            told_all, in_arguments = True, False
            current = (found[2] or "") if found[1] in {"param", "parameter", "arg"} else ""
            _say(words, current, found[3])
            indent = 0
        elif in_arguments and (found := _ARGUMENT.match(line)) and (not current or _indent(line) <= indent):
            current, indent = found[1], _indent(line)
            _say(words, current, found[2])
        elif current and line.strip():
            _say(words, current, line)
        elif not told_all:
            told.append(line)
    words.description = re.sub(r"(?<!\n)\n(?!\n)", " ", "\n".join(told).strip())
    return words


def _say(words: Words, name: str, text: str) -> None:
    if name:
        words.arguments[name] = f"{words.arguments.get(name, '')} {text.strip()}".strip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
