"""Read docstrings in Google, NumPy and Sphinx style."""

from __future__ import annotations

import re
from collections.abc import Mapping

from toolc.dataclass import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Docstring:
    """The text before the first section, and the descriptions and types of the arguments that have them."""

    description: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    """Read a docstring. In an unknown style, the whole text is the description."""
    import docstring_parser  # lazy: 28 ms, and only definitions of functions need it

    if not text:
        return Docstring(description="")
    try:
        found = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return Docstring(description=_paragraphs(text))
    described = {each.arg_name.lstrip("*"): each for each in found.params}
    return Docstring(
        description=_paragraphs(found.description or ""),
        arguments={name: " ".join(each.description.split()) for name, each in described.items() if each.description},
        types={name: each.type_name for name, each in described.items() if each.type_name},
    )


def _paragraphs(text: str) -> str:
    """Return a text with one line for each paragraph."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text.strip())
