"""The modules of toolc and the imports and public names of each, read from the source."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[3] / "toolc"

TABLES: Final = {"toolc.model.codes", "toolc.guest.frames"}
"""Modules of many constants with names of one pattern, which the docstring of the package describes instead."""


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement of one name.

    ``module`` is the imported module. ``name`` is the name that is imported from it, empty if the module itself is
    imported. ``is_local`` says whether the statement is inside a function.
    """

    module: str
    name: str
    line: int
    is_local: bool


@cache
def sources() -> Mapping[str, Path]:
    """Return the path of each module by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(sources()[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> tuple[Import, ...]:
    """Return every import of a module: at the top, inside functions and for type checkers only."""
    return tuple(_imports(tree(module), is_local=False))


def _imports(node: ast.AST, *, is_local: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(each.name, "", child.lineno, is_local) for each in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = child.module or ""
            for each in child.names:
                if f"{base}.{each.name}" in sources():
                    yield Import(f"{base}.{each.name}", "", child.lineno, is_local)
                else:
                    yield Import(base, each.name, child.lineno, is_local)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, is_local=is_local or inside)


def definitions(module: str) -> Iterator[str]:
    """Yield the names that a module defines at its top level."""
    for node in tree(module).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            yield from (each.id for each in names if isinstance(each.ctx, ast.Store))
        elif isinstance(node, ast.ImportFrom):
            yield from (each.name for each in node.names if each.name == each.asname)  # an explicit export


@cache
def docstring_items(package: str) -> Mapping[str, str]:
    """Return the items of the list in the docstring of a package, by the name of their module."""
    return dict(re.findall(r"^- ``(\w+)``(.*?)(?=^- |^$|\Z)", ast.get_docstring(tree(package)) or "", re.M | re.S))


@cache
def public_names(module: str) -> frozenset[str]:
    """Return the names that other packages may use: those that the docstring of the module's package lists.

    The names of a package itself, and of a module that is a table of constants, are public without an underscore.
    """
    package, _, name = module.rpartition(".")
    if module in TABLES or sources()[module].name == "__init__.py":
        return frozenset(each for each in definitions(module) if not each.startswith("_"))
    listed = {name, *re.findall(r"``(\w+)``", docstring_items(package).get(name, ""))}
    return frozenset(listed & {*definitions(module)})


def package_of(module: str) -> str:
    """Return the package that a module belongs to: its own name for a package, else that of its folder."""
    return module if sources()[module].name == "__init__.py" else module.rpartition(".")[0]
