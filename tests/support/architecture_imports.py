"""The modules of toolc and the imports and public names of each, read from the source."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[2] / "toolc"


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


def exported(module: str) -> set[str]:
    """Return ``__all__`` of a module; empty if it has none."""
    for node in tree(module).body:
        if isinstance(node, ast.Assign) and any(isinstance(x, ast.Name) and x.id == "__all__" for x in node.targets):
            return set(ast.literal_eval(node.value))
    return set()


def package_of(module: str) -> str:
    """Return the package that a module belongs to: its own name for a package, else that of its folder."""
    return module if sources()[module].name == "__init__.py" else module.rpartition(".")[0]
