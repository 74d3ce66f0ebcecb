"""RSK07: what runs is another program; RSK12 where it is another package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from toolc.calls import called
from toolc.review.change import Change, Grade
from toolc.review.risk.sides import Sides
from toolc.review.state import State
from toolc.spec import File, PluginBackend, PythonBackend, Script, ShellBackend, ToolSpec

RULE: Final = "RSK07"
DEPENDENCY: Final = "RSK12"


def check(sides: Sides) -> Iterator[Change]:
    """Programs and packages that changed, and tools that this one calls."""
    was, now = sides.was, sides.now
    if was is None:
        return
    yield from _files(sides, was, now)
    yield from _requirements(sides, was, now)
    yield from _calls(sides)


def _files(sides: Sides, was: ToolSpec, now: ToolSpec) -> Iterator[Change]:
    before, after = programs(was), programs(now)
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        grade: Grade = "low" if _is_same_program(path, old, new) else "high"
        verb = "is new" if old is None else "is gone" if new is None else "is another"
        words = f"the program {path} {verb}" + (" in its comments and layout only" if grade == "low" else "")
        yield sides.risk(RULE, grade, words, ("backend", now.backend.tag), old, new)


def programs(tool: ToolSpec) -> dict[str, str]:
    """The texts of a tool that run, by what they are called."""
    backend = tool.backend
    if isinstance(backend, ShellBackend) and isinstance(backend.command, Script):
        return {"script": backend.command.text}
    if isinstance(backend, PythonBackend | PluginBackend):
        return {file.path: _text(file) for file in backend.files}
    return {}


def _text(file: File) -> str:
    return file.text if file.text is not None else f"(not text) {file.base64}"


def _is_same_program(path: str, old: str | None, new: str | None) -> bool:
    """Whether two Python files differ in comments and layout only."""
    if old is None or new is None or not path.endswith(".py"):
        return False
    try:
        return ast.dump(ast.parse(old)) == ast.dump(ast.parse(new))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _requirements(sides: Sides, was: ToolSpec, now: ToolSpec) -> Iterator[Change]:
    before, after = _packages(was), _packages(now)
    if before == after:
        return
    words = "a call uses other packages"
    route = ("backend", "python", "requirements")
    yield sides.risk(DEPENDENCY, "high", words, route, ", ".join(before) or None, ", ".join(after) or None)


def _packages(tool: ToolSpec) -> tuple[str, ...]:
    return tool.backend.requirements if isinstance(tool.backend, PythonBackend) else ()


def _calls(sides: Sides) -> Iterator[Change]:
    """Tools that this one calls, and that are others now, or do something else, by whatever name it calls them."""
    for name in called(sides.now):
        before, after = sides.before.by_name.get(name), sides.after.by_name.get(name)
        route = ("backend", sides.now.backend.tag)
        was, now = before.name if before else None, after.name if after else None
        if was != now and sides.was and name in called(sides.was):
            yield sides.risk(RULE, "high", f"it calls another tool by the name {name}", route, was, now)
        elif before and after and _digests(sides.before, before) != _digests(sides.after, after):
            both = _digests(sides.before, before), _digests(sides.after, after)
            yield sides.risk(RULE, "low", f"the tool {name}, which it calls, is another", route, *both)


def _digests(state: State, tool: ToolSpec) -> str:
    return f"surface={state.surface_digest(tool.name)} effect={state.effect_digest(tool.name)}"
