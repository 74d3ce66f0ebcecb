"""Extract the statements of a file that some functions need, so that a sandbox runs no framework and no agent loop.

The code has ``from __future__ import annotations``, so type hints are not evaluated and need no import. A statement
that binds no name, such as ``matplotlib.use("Agg")``, is kept if everything that it uses is kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.importers.python.modules import Function, LeftOutError, Module, framework_of

_FUTURE: Final = "from __future__ import annotations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A replacement of the text of a node, or the removal of a decorator with its line."""

    node: ast.expr
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unit:
    """A top-level statement, or one name of an import. ``reads`` has the names that it uses, each with a place.

    ``origin`` is the dotted name of what it imports.
    """

    node: ast.stmt
    alias: ast.alias | None = None
    binds: frozenset[str]
    reads: Mapping[str, ast.AST] = field(default_factory=dict)
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Statements:
    """The units of a module. Nodes in ``ignored``, such as decorators of frameworks, do not count as uses."""

    module: Module
    units: tuple[Unit, ...]

    @classmethod
    def of(cls, module: Module, ignored: Iterable[ast.AST]) -> Statements:
        """Return the statements of a module."""
        skipped = frozenset(id(each) for each in ignored)
        return cls(module, tuple(_units(module, skipped)))

    def needed(self, names: Mapping[str, ast.AST]) -> set[Unit]:
        """Return the units that define these names, and the units that those need. Raises ``LeftOutError``."""
        kept: set[Unit] = set()
        self._add(kept, names)
        while more := [each for each in self.units if not each.binds and self._is_harmless(each, kept)]:
            for each in more:
                kept.add(each)
                self._add(kept, each.reads)
        return kept

    def text(self, kept: set[Unit], edits: Sequence[Edit], more: str) -> str:
        """Return the code of these units with the edits applied and the additional code appended."""
        parts = [f"# From {self.module.path}, by toolc import python: only what its tools need.", _FUTURE, ""]
        lines = [line.encode() for line in self.module.text.split("\n")]
        for edit in sorted(edits, key=lambda each: (each.node.lineno, each.node.col_offset), reverse=True):
            _apply(lines, edit)
        before: ast.stmt | None = None
        for node in dict.fromkeys(each.node for each in self.units if each in kept):
            aliases = [each.alias for each in self.units if each.node is node and each in kept and each.alias]
            is_block = any(isinstance(each, Function | ast.ClassDef) for each in (node, before))
            is_other = before and not all(isinstance(each, ast.Import | ast.ImportFrom) for each in (node, before))
            parts += ["", ""] if is_block else [""] if is_other else []
            parts.append(self._code(node, aliases, lines))
            before = node
        return "\n".join([*parts, *(["", "", more] if more else [])]).rstrip() + "\n"

    def _add(self, kept: set[Unit], names: Mapping[str, ast.AST]) -> None:
        queue = [*names.items()]
        while queue:
            name, place = queue.pop()
            for unit in self.units:
                if name not in unit.binds and "*" not in unit.binds:
                    continue
                if (framework := framework_of(unit.origin)) and name in unit.binds:
                    raise LeftOutError(f"its code uses {name}, which is part of {framework}", place)
                if unit not in kept and not framework:
                    kept.add(unit)
                    queue += unit.reads.items()

    def _is_harmless(self, unit: Unit, kept: set[Unit]) -> bool:
        """Return whether a unit is not kept yet, and uses only kept names and other parts of kept packages."""
        packages = {_top(each.origin) for each in kept if each.origin}
        used = [each for each in self.units if not each.binds.isdisjoint(unit.reads)]
        return unit not in kept and all(each in kept or _top(each.origin) in packages for each in used)

    def _code(self, node: ast.stmt, aliases: Sequence[ast.alias], lines: Sequence[bytes]) -> str:
        if isinstance(node, ast.ImportFrom) and (node.level or len(aliases) < len(node.names)):
            origin = self.module.absolute(node)
            return ast.unparse(ast.ImportFrom(origin, [*aliases], 0) if origin else ast.Import([*aliases]))
        if isinstance(node, ast.Import) and len(aliases) < len(node.names):
            return ast.unparse(ast.Import([*aliases]))
        start = _first_line(node) - 1
        while start > 0 and lines[start - 1].startswith(b"#") and not lines[start - 1].startswith(b"#!"):
            start -= 1
        return b"\n".join(each for each in lines[start : node.end_lineno] if each is not _REMOVED).decode()


_REMOVED: Final = b"\0"


def _apply(data: list[bytes], edit: Edit) -> None:
    first, last = edit.node.lineno - 1, (edit.node.end_lineno or edit.node.lineno) - 1
    start, end = edit.node.col_offset, edit.node.end_col_offset or 0
    if edit.text is None:
        data[first : last + 1] = [_REMOVED] * (last + 1 - first)
        return
    data[first : last + 1] = [data[first][:start] + edit.text.encode() + data[last][end:], *[_REMOVED] * (last - first)]


def _units(module: Module, skipped: frozenset[int]) -> Iterator[Unit]:
    for node in module.tree.body:
        if isinstance(node, ast.Import):
            for each in node.names:
                name = each.asname or each.name.partition(".")[0]
                yield Unit(node=node, alias=each, binds=frozenset({name}), origin=each.name)
        elif isinstance(node, ast.ImportFrom):
            start = module.absolute(node)
            for each in node.names if start != "__future__" else ():
                name = each.asname or each.name
                yield Unit(node=node, alias=each, binds=frozenset({name}), origin=f"{start}.{each.name}".lstrip("."))
        elif not _is_left_out(node):
            yield Unit(node=node, binds=frozenset(_bound(node)), reads=dict(_read(node, skipped)))


def _is_left_out(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring, or code below ``if __name__ == "__main__"``."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.If) and "__name__" in {
        each.id for each in ast.walk(node.test) if isinstance(each, ast.Name)
    }


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
        return
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import() | ast.ImportFrom():
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in each.names)
            case _:
                pass


def _read(node: ast.AST, skipped: frozenset[int]) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that a statement uses when it runs, which excludes type hints of functions."""
    if id(node) in skipped:
        return
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            yield node.id, node
        return
    own = _own_names(node) if isinstance(node, Function | ast.Lambda) else frozenset()
    if isinstance(node, ast.ClassDef):
        for each in ast.walk(node):  # a class may evaluate its hints, as Pydantic does
            if isinstance(each, ast.AnnAssign):
                yield from _hint_names(each.annotation)
    for key, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for each in children if key not in {"annotation", "returns"} else ():
            found = _read(each, skipped) if isinstance(each, ast.AST) else ()
            yield from ((name, place) for name, place in found if key != "body" or name not in own)


def _hint_names(node: ast.expr) -> Iterator[tuple[str, ast.AST]]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id, each
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.isidentifier():
            yield each.value, each


def _own_names(node: Function | ast.Lambda) -> frozenset[str]:
    """Return the parameters and variables of a function."""
    arguments = node.args
    own = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    own |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each}
    inner = [*ast.walk(node)]
    own |= {each.id for each in inner if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return frozenset(own - {name for each in inner if isinstance(each, ast.Global) for name in each.names})


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _top(name: str) -> str:
    return name.partition(".")[0]
