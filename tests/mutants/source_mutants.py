"""The small mistakes that ``make mutants`` makes in the source, one at a time, and a sample of them.

The sample depends on the text of each function, not on its line numbers: an edit elsewhere changes no other mutant.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SWAPS: Final = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.And: "or", ast.Or: "and", ast.Add: "-", ast.Sub: "+",
    ast.Mult: "//", ast.FloorDiv: "*", ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
"""What each operator becomes."""

_OPERATOR: Final = re.compile(rb"[^()\s\\#]+(?:\s+(?:in|not)\b)?")
_WORD: Final = re.compile(r"[$A-Za-z_][$\w-]*")
_NESTED: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A replacement of ``source[start:end]`` (bytes) in the file at ``path``; ``number`` identifies it."""

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str
    number: str

    def apply(self, source: bytes) -> bytes:
        """Return the source with the mistake."""
        return source[: self.start] + self.after.encode() + source[self.end :]

    def __str__(self) -> str:
        before, after = (" ".join(text.split())[:60] for text in (self.before, self.after))
        return f"{self.number} {self.path}:{self.line}: {before} -> {after}"


def sample(root: Path, packages: Sequence[str], count: int) -> list[Mutant]:
    """Return ``count`` mutants of the packages ``toolc/<name>``, by path and line; always the same for one source."""
    files = sorted(file for package in packages for file in (root / "toolc" / package).rglob("*.py"))
    found = [each for file in files for each in mutants(file.relative_to(root).as_posix(), file.read_bytes())]
    chosen = sorted(found, key=lambda each: each.number)[:count]
    return sorted(chosen, key=lambda each: (each.path, each.line, each.start))


def mutants(path: str, source: bytes) -> Iterator[Mutant]:
    """Yield every mutant of one file."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen: Counter[str] = Counter()
    for name, node, start, end, after in _edits(ast.parse(source), source, starts):
        before = source[start:end].decode()
        key = f"{path}:{name}:{before}:{after}"
        seen[key] += 1
        number = hashlib.sha256(f"{key}:{seen[key]}".encode()).hexdigest()[:10]
        yield Mutant(path, node.lineno, start, end, before, after, number)


_Edit = tuple[str, ast.expr | ast.stmt, int, int, str]
"""The name of the function, the node, the start and end in bytes, and the new text."""


def _edits(tree: ast.Module, source: bytes, starts: Sequence[int]) -> Iterator[_Edit]:
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        name, node = pending.pop()
        if isinstance(node, ast.expr | ast.stmt):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            for first, last, after in _edits_of(node, source, start, end, starts):
                yield name, node, first, last, after
        inner = f"{name}.{node.name}" if isinstance(node, _NESTED) else name
        pending += [(inner, child) for child in reversed([*_children(node)])]


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that run: no annotations, docstrings, decorators, assertions or f-strings."""
    if isinstance(node, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
        return
    skipped: set[int] = set()
    for field in ("annotation", "returns", "decorator_list"):
        value = getattr(node, field, None)
        skipped |= {id(each) for each in (value if isinstance(value, list) else [value])}
    for child in ast.iter_child_nodes(node):
        is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if id(child) not in skipped and not is_text:
            yield child


def _edits_of(
    node: ast.expr | ast.stmt, source: bytes, start: int, end: int, starts: Sequence[int]
) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and new text of each mistake in ``node`` itself."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield from _swap(left, operator, right, source, starts)
        case ast.BoolOp(op=operator, values=[left, right, *_]):
            yield from _swap(left, operator, right, source, starts)
        case ast.BinOp(left=left, op=operator, right=right):
            yield from _swap(left, operator, right, source, starts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield (
                start,
                starts[operand.lineno - 1] + operand.col_offset,
                "" if source[start + 3 : start + 4] == b" " else " ",
            )
        case ast.Constant(value=bool() as value):
            yield start, end, str(not value)
        case ast.Constant(value=int() as value):
            yield start, end, str(value + 1)
        case ast.Constant(value=str() as text) if _WORD.fullmatch(text):
            yield start, end, repr(f"not_{text}")
        case ast.Return(value=ast.expr() as value) if not _is_constant(value, None, False):
            yield start, end, "return None"
        case ast.Raise() | ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield start, end, "pass"
        case ast.If(test=ast.Name() | ast.Call() | ast.Attribute() as test):
            first = starts[test.lineno - 1] + test.col_offset
            last = starts[(test.end_lineno or test.lineno) - 1] + (test.end_col_offset or 0)
            yield first, last, f"not ({source[first:last].decode()})"
        case _:
            return


def _is_constant(node: ast.expr, *values: object) -> bool:
    return isinstance(node, ast.Constant) and any(node.value is value for value in values)


def _swap(
    left: ast.expr, operator: ast.AST, right: ast.expr, source: bytes, starts: Sequence[int]
) -> Iterator[tuple[int, int, str]]:
    """Yield the edit that replaces the operator between two expressions."""
    first = starts[(left.end_lineno or left.lineno) - 1] + (left.end_col_offset or 0)
    found = _OPERATOR.search(source, first, starts[right.lineno - 1] + right.col_offset)
    if found and type(operator) in SWAPS:
        yield found.start(), found.end(), SWAPS[type(operator)]
