"""What the text of a file rules out: most checks look for something that hardly any spec has.

Looking for a few characters in a text takes a fraction of the time of a walk through all strings of a tool.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from toolc.source import SourceText

if TYPE_CHECKING:
    from toolc.compiler.decode_tool import LocatedTool

_RESPELLS: Final = re.compile(r"\\[xuU\s]")
"""Escapes of YAML and TOML by which a string holds characters that are not written, or not in one stretch."""


def may_hold(tool: LocatedTool, parts: tuple[str, ...]) -> bool:
    """Whether a string of ``tool`` may hold one of ``parts``, which are made of printable ASCII without a space."""
    return bool(tool.defaults) or _may_hold(tool.source, parts)


# A file may have thousands of tools.
@lru_cache(maxsize=16)
def _may_hold(source: SourceText, parts: tuple[str, ...]) -> bool:
    return any(part in source.text for part in parts) or _may_differ(source)


@lru_cache(maxsize=4)
def _may_differ(source: SourceText) -> bool:
    """Whether a string may say what is not written in the file: by an escape, or by a variable of the project."""
    return "vars" in source.text or bool(_RESPELLS.search(source.text))
