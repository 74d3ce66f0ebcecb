"""Report imports of a Python tool that would fail in its sandbox: TC415 (files and packages).

Imports are read from the syntax tree of the entry file and of each file that it imports. An import that may fail by
intention does not count: in ``try`` with ``except ImportError``, or under a condition about types or versions.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from toolc.compiler.decode.python_function import PythonSource
from toolc.compiler.project.files import FileError, SpecFolder
from toolc.compiler.text_analysis.python_syntax import syntax_tree
from toolc.data.python_modules import PACKAGES, STANDARD_LIBRARY, package_name, provides
from toolc.dataclass import dataclass, replace
from toolc.document.edits import fix, insert_entry, insert_item
from toolc.document.map_reader import Findings
from toolc.document.nodes import Mapping as MappingNode
from toolc.document.nodes import Node
from toolc.document.nodes import Sequence as SequenceNode
from toolc.model import codes
from toolc.model.diagnostics import Fix
from toolc.model.source import SourceText, Span
from toolc.model.spec.code_backends import File

ImportStatement: TypeAlias = ast.Import | ast.ImportFrom

_HANDLED: Final = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_CONDITIONS: Final = frozenset({"TYPE_CHECKING", "version_info", "platform", "find_spec", "__name__", "hexversion"})
_RUNNING: Final = frozenset({"__main__", "__tool__"})
"""Modules that exist in every process of a tool."""
_MAX_FILES: Final = 200
"""The maximum number of files next to the spec that are followed to list all that are missing."""


@dataclass(frozen=True, slots=True)
class Module:
    """One imported module: the folder in which it is searched (None for the search path), and its dotted name.

    ``is_name`` is true for a name in ``from package import name``, which may be a module or a value in the package.
    """

    folder: str | None
    name: str
    statement: ImportStatement
    is_name: bool = False

    @property
    def top(self) -> str:
        """The name of the top-level package."""
        return self.name.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """Checks the imports of one tool.

    - ``node``: ``backend.python`` in the spec.
    - ``entry``, ``files``: the path of the entry file, and the files of the tool by path.
    - ``packages``: the normalized names in ``requirements``.
    - ``has_image``: whether the tool has its own image, whose packages are unknown.
    """

    node: MappingNode
    entry: str
    files: Mapping[str, File]
    packages: Collection[str]
    has_image: bool
    folder: SpecFolder
    findings: Findings

    def check(self, python: PythonSource) -> None:
        """Report the imports of the entry file ``python``, and of the files that it imports."""
        needed: list[str] = []
        reported: set[tuple[str, str]] = set()
        for path, module, missing in self._failing():
            if (key := (path, missing or module.top)) in reported:
                continue
            reported.add(key)
            source = python if path == self.entry else self._source(path)
            if missing is None:
                self._report_package(module.name, _span(source, module))
                continue
            needed = needed or self._all_missing()
            self._report_file(module, missing, needed, source)

    def check_preloaded(self, modules: Sequence[tuple[str, Node]]) -> None:
        """Report modules of ``preload`` that do not exist before the call, and those that are listed twice."""
        seen: set[str] = set()
        for name, node in modules:
            module = Module(None, name, ast.Import(names=[]))
            if name in seen:
                self.findings.add(
                    codes.BAD_VALUE, f"the module '{name}' is listed twice", node.span, "keep one of them"
                )
            elif self._find(module)[0]:
                message = f"'{name}' is a file of the tool, which a sandbox receives with the call"
                hint = "list only modules of the standard library and of packages in 'preload'"
                self.findings.add(codes.BAD_VALUE, message, node.span, hint)
            elif self._is_missing_package(module):
                self._report_package(name, node.span)
            seen.add(name)

    def _failing(self) -> Iterator[tuple[str, Module, str | None]]:
        """Yield each file with an import that would fail, and the missing file (None for a package)."""
        queue = [self.entry]
        for path in queue:
            text = self.files[path].text
            for module in imports(text, path) if text is not None else ():
                loaded, missing = self._find(module)
                queue += (each for each in loaded if each not in queue)
                if missing is not None or (not loaded and self._is_missing_package(module)):
                    yield path, module, missing

    def _all_missing(self) -> list[str]:
        """Return all files next to the spec that the tool lacks, including those that these import."""
        found: list[str] = []
        complete = self
        while len(found) < _MAX_FILES:
            missing = next((each for _, _, each in complete._failing() if each and each not in found), None)
            if missing is None:
                break
            found.append(missing)
            with suppress(FileError):
                more = {path: self.folder.read(path) for path in self.folder.match(missing)}
                complete = replace(complete, files={**complete.files, **more})
        return found

    def _source(self, path: str) -> PythonSource:
        name, text = self.folder.display_path_of(path), self.files[path].text or ""
        source = SourceText(name, text)
        return PythonSource(name, text, source, source.whole_file())

    def _roots(self, module: Module) -> Sequence[str]:
        if module.folder is not None:
            return (module.folder,)
        return tuple(dict.fromkeys((self.entry.rpartition("/")[0], "")))

    def _find(self, module: Module) -> tuple[list[str], str | None]:
        """Return the files of the tool that an import loads, and the file next to the spec that it lacks."""
        if module.folder is None and module.top in STANDARD_LIBRARY:
            return [], None
        missing: str | None = None
        for root in self._roots(module):
            loaded, lacks = self._find_in(root, module)
            if loaded:
                return loaded, lacks
            missing = missing or lacks
        is_installed = provides(self.packages, module.name) or (self.has_image and module.top in PACKAGES)
        return [], None if module.folder is None and is_installed else missing

    def _find_in(self, root: str, module: Module) -> tuple[list[str], str | None]:
        loaded: list[str] = []
        parts = module.name.split(".")
        for index in range(len(parts)):
            place = str(PurePosixPath(root, *parts[: index + 1]))
            if f"{place}.py" in self.files:
                return [*loaded, f"{place}.py"], None
            if (package := f"{place}/__init__.py") in self.files:
                loaded.append(package)
            elif not any(path.startswith(f"{place}/") for path in self.files):
                is_value = module.is_name and index == len(parts) - 1 and self._defines(loaded, parts[-1])
                return loaded, None if is_value else self._on_disk(place)
        # In a package without __init__.py, any file counts.
        start = f"{PurePosixPath(root, *parts)}/"
        return loaded or [next(path for path in self.files if path.startswith(start))], None

    def _defines(self, loaded: Sequence[str], name: str) -> bool:
        """Return whether the last loaded package defines a name itself."""
        text = self.files[loaded[-1]].text if loaded else None
        return text is not None and name in _names(text)

    def _on_disk(self, place: str) -> str | None:
        """Return the file of a module next to the spec, or None if there is none."""
        for path in (f"{place}.py", f"{place}/__init__.py"):
            if self.folder.has(path):
                return path
        with suppress(FileError):
            return f"{place}/*.py" if self.folder.match(f"{place}/*.py") else None
        return None

    def _is_missing_package(self, module: Module) -> bool:
        """Return whether a module is in a package although the tool installs none."""
        is_running = module.folder is not None or module.is_name or module.top in STANDARD_LIBRARY | _RUNNING
        return not (is_running or self.packages or self.has_image)

    def _report_file(self, module: Module, missing: str, needed: Sequence[str], source: PythonSource) -> None:
        listed = ", ".join(f'"{each}"' if "*" in each else each for each in needed)
        has_files = self.node.entry("files") is not None
        hint = f"add {listed} to 'files'" if has_files else f"add files: [{listed}]"
        message = f"'{_shown(module)}' is in {self.folder.display_path_of(missing)}, which is not a file of the tool"
        self.findings.add(codes.UNLISTED_FILE, message, _span(source, module), hint, self._fix(needed, hint))

    def _fix(self, needed: Sequence[str], description: str) -> Fix | None:
        """Return the fix that lists the files in the spec."""
        source, files = self.findings.source, self.node.get("files")
        listed = ", ".join(f'"{each}"' for each in needed)
        if files is None:
            return fix(description, insert_entry(source, self.node, f"files: [{listed}]"))
        if not isinstance(files, SequenceNode) or not files.items or len(needed) > 1:
            return None
        return fix(description, insert_item(source, files.items[0].span, needed[0]))

    def _report_package(self, name: str, span: Span) -> None:
        message = f"'{name.partition('.')[0]}' is not in the standard library, and the tool installs no packages"
        hint = f"add requirements: [{package_name(name)}==VERSION], or set sandbox.image to an image that has it"
        self.findings.add(codes.MISSING_PACKAGE, message, span, hint)


def imports(text: str, path: str) -> Iterator[Module]:
    """Yield the modules that the Python file ``path`` imports, in order. Yield nothing if it cannot be parsed."""
    for statement in _statements(_tree(text)):
        if isinstance(statement, ast.Import):
            yield from (Module(None, alias.name, statement) for alias in statement.names)
            continue
        folder = None
        if statement.level:
            parents = PurePosixPath(path).parents
            if statement.level > len(parents):
                continue
            folder = str(parents[statement.level - 1]).removeprefix(".")
        if statement.module:
            yield Module(folder, statement.module, statement)
        start = f"{statement.module}." if statement.module else ""
        names = [alias.name for alias in statement.names if alias.name != "*"]
        yield from (Module(folder, f"{start}{name}", statement, is_name=True) for name in names)


def _tree(text: str) -> ast.AST:
    """Return the syntax tree of a file, or an empty tree if it cannot be parsed."""
    try:
        return syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _statements(tree: ast.AST) -> Iterator[ImportStatement]:
    """Yield the import statements at any depth, without those whose failure the code handles."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ImportStatement):
            yield node
        elif isinstance(node, ast.Try | ast.TryStar) and any(map(_handles_import_error, node.handlers)):
            stack += reversed(node.finalbody)
        elif isinstance(node, ast.If) and not _CONDITIONS.isdisjoint(_identifiers(node.test)):
            is_negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
            test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
            if isinstance(test, ast.Name | ast.Attribute) and "TYPE_CHECKING" in _identifiers(test):
                stack += reversed(node.body if is_negated else node.orelse)
        elif isinstance(node, ast.With) and _suppresses_import_error(node):
            continue
        elif not isinstance(node, ast.expr):
            stack += reversed([*ast.iter_child_nodes(node)])


def _handles_import_error(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or not _HANDLED.isdisjoint(_identifiers(handler.type))


def _suppresses_import_error(node: ast.With) -> bool:
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    names = [_identifiers(call) for call in calls]
    return any("suppress" in each and not _HANDLED.isdisjoint(each) for each in names)


def _identifiers(node: ast.AST) -> frozenset[str]:
    """Return the names and attributes in an expression."""
    return frozenset(
        each.id if isinstance(each, ast.Name) else each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute)
    )


def _names(text: str) -> frozenset[str]:
    """Return the names that a file defines or imports, or an empty set if it cannot be parsed."""
    found: set[str] = set()
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
    return frozenset(found)


def _shown(module: Module) -> str:
    """Return the name of a module as the statement writes it."""
    level = module.statement.level if isinstance(module.statement, ast.ImportFrom) else 0
    return f"{'.' * level}{module.name}"


def _span(source: PythonSource, module: Module) -> Span:
    """Return the span of the statement's first line up to its end, or of the whole line."""
    statement = module.statement
    lines = source.lines
    line = lines[statement.lineno - 1] if statement.lineno <= len(lines) else ""
    before = len(line.encode()[: statement.col_offset].decode("utf-8", "replace"))
    return source.span(statement.lineno, before + 1, len(line.rstrip()) - before)
