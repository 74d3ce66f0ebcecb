"""What ``toolc show --effective`` prints: each value of a tool and where it comes from."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolc.cli.common import CANNOT, compile_or_exit
from toolc.client.build import split_target
from toolc.compiler.spec_schema.effective import ValueOrigin, effective
from toolc.document.map_reader import listed, suggestion
from toolc.model.errors import UsageError
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool

_WIDTH: Final = 60


def find_located(target: str, paths: tuple[str, ...]) -> LocatedTool:
    """The tool ``target`` of the specs at ``paths`` (the current folder if none), or a spec file itself.

    Raises ``UsageError``.
    """
    source, name = split_target(target)
    if not paths and source.exists():
        paths = (str(source),)
    elif not paths:
        name, paths = target, (".",)
    else:
        name = target
    compilation = compile_or_exit(paths, to=sys.stderr, code=CANNOT)
    named = [tool for tool in compilation.located if name in {tool.spec.name, *tool.spec.aliases}]
    found = compilation.own if name is None else named
    if len(found) == 1:
        return found[0]
    names = [tool.spec.name for tool in found or compilation.located]
    if name is None:
        raise UsageError(f"{target} holds {len(found)} tools; say which: {target}#{'|'.join(names)}")
    hint = suggestion(name, names) or f"there are: {listed(names)}"
    raise UsageError(f"there is no tool {name!r} in {', '.join(map(str, map(Path, paths)))}; {hint}")


def as_text(tool: LocatedTool) -> str:
    """A line for each value: key, value and origin, in columns."""
    rows = [(each.key, _short(each), each.origin) for each in effective(tool)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = (f"{key:<{widths[0]}}  {value:<{widths[1]}}  {origin}" for key, value, origin in rows)
    return "".join(f"{escape_for_terminal(line)}\n" for line in lines)


def as_json(tool: LocatedTool) -> str:
    """The same as a list of ``key``, ``value`` and ``origin``."""
    rows = [{"key": each.key, "value": each.value, "origin": each.origin} for each in effective(tool)]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def _short(value: ValueOrigin) -> str:
    """A value on one line, cut where it is long."""
    text = json.dumps(value.value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
