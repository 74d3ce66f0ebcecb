"""Parse the Python files below a folder, and resolve the names in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from toolc.compiler.text_analysis.python_syntax import syntax_tree
from toolc.dataclass import dataclass, field, replace
from toolc.model.errors import UsageError

_FRAMEWORKS: Final = frozenset({"agents", "fastmcp", "langchain", "langgraph", "mcp", "smolagents", "toolc"})

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class LeftOutError(Exception):
    """A function cannot be a tool in a sandbox. ``node`` is the cause in its file."""

    def __init__(self, reason: str, node: ast.AST) -> None:
        super().__init__(reason)
        self.node = node


def framework_of(name: str) -> str:
    """Return the top-level module of a dotted name if it is an agent framework, otherwise an empty string."""
    top = name.partition(".")[0]
    return top if top in _FRAMEWORKS or top.startswith(("langchain_", "langgraph_")) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One file. ``path`` is relative to the folder. ``imports`` has the dotted name of each imported name.

    ``definitions`` has the last top-level statement that defines each name.
    """

    path: str
    text: str
    tree: ast.Module
    imports: Mapping[str, str]
    definitions: Mapping[str, ast.stmt]

    @property
    def package(self) -> str:
        """The dotted name of the package that contains the module, or an empty string."""
        return ".".join(PurePosixPath(self.path).parent.parts)

    def origin(self, node: ast.AST | None) -> str:
        """Return the dotted name of an expression such as ``t.List``, with its import resolved, or an empty string."""
        if isinstance(node, ast.Name):
            return self.imports.get(node.id, node.id)
        if isinstance(node, ast.Attribute) and (base := self.origin(node.value)):
            return f"{base}.{node.attr}"
        return ""

    def written(self, node: ast.AST) -> str:
        """Return the source of an expression on one line."""
        if isinstance(node, ast.Name | ast.Attribute):  # one that was in quotes has no place of its own
            return ast.unparse(node)
        return " ".join((ast.get_source_segment(self.text, node) or ast.unparse(node)).split())

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the dotted name of the module that a statement imports from."""
        if not node.level:
            return node.module or ""
        parents = self.package.split(".") if self.package else []
        kept = parents[: len(parents) - (node.level - 1)]
        return ".".join([*kept, *([node.module] if node.module else [])])


@dataclass(frozen=True, slots=True)
class Modules:
    """The modules below ``folder``. Each is read once."""

    folder: Path
    read: dict[str, Module] = field(default_factory=dict)

    def path_of(self, name: str) -> str | None:
        """Return the path of the module with this dotted name, or None if it is not below the folder."""
        place = PurePosixPath(*name.split("."))
        for path in (f"{place}.py", f"{place}/__init__.py"):
            if name and (self.folder / path).is_file():
                return path
        return None

    def module(self, path: str) -> Module:
        """Return the module in a file. Raises ``UsageError`` if the file is not valid Python."""
        if path not in self.read:
            place = self.folder / path
            try:
                text = place.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
                tree = syntax_tree(text)
            except OSError as error:
                raise UsageError(f"{place} cannot be read: {error.strerror}") from None
            except SyntaxError as error:
                raise UsageError(f"{place}:{error.lineno}:{error.offset}: it is not Python: {error.msg}") from None
            except (ValueError, RecursionError, MemoryError):
                raise UsageError(f"{place} cannot be read as Python in UTF-8") from None
            found = Module(path=path, text=text, tree=tree, imports={}, definitions=dict(_defined(tree)))
            self.read[path] = replace(found, imports=dict(_imported(found)))
        return self.read[path]

    def find(self, name: str) -> tuple[Module, str] | None:
        """Find the module below the folder that a dotted name starts with. Return it and the rest of the name."""
        parts = name.split(".")
        for count in range(len(parts) - 1, 0, -1):
            if path := self.path_of(".".join(parts[:count])):
                return self.module(path), ".".join(parts[count:])
        return None


def _imported(module: Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield (each.asname, each.name) if each.asname else (each.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom):
            start = module.absolute(node)
            yield from ((each.asname or each.name, f"{start}.{each.name}".lstrip(".")) for each in node.names)


def _defined(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node
            case _:
                pass
