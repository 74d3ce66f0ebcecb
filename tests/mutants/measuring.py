"""A pytest plugin that measures which mutated statements each test runs, and which of the modules that have mutants.

Only functions of these modules are changed: the tests are about as fast as without it. Reads the start of each mutant
in bytes, by path and number, as JSON from the file ``MUTANTS_CHOSEN``. Writes each test's duration in seconds, and the
numbers and paths that it runs, as JSON to the file ``MUTANTS_COVERAGE``.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import time
from collections.abc import Iterator, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Final

import pytest

PROBE: Final = "_mutants_ran"
_FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)

_ran: Final[set[str]] = set()
_measured: Final[dict[str, tuple[float, list[str]]]] = {}


def probed(path: str, source: bytes, chosen: Mapping[str, int]) -> ast.Module:
    """Return the syntax tree of a module whose functions report the path, and the numbers of the mutants they run."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    functions = [each for each in ast.walk(tree) if isinstance(each, _FUNCTION)]
    inner = {id(each) for function in functions for each in ast.walk(function) if each is not function}
    statements = [
        (starts[each.lineno - 1] + each.col_offset, starts[each.end_lineno - 1] + each.end_col_offset, body, each)
        for node in ast.walk(tree)
        for body in (getattr(node, field, None) for field in ("body", "orelse", "finalbody"))
        if isinstance(body, list)
        for each in body
        if id(each) in inner and each.end_lineno is not None and each.end_col_offset is not None
    ]
    for number, position in chosen.items():
        holding = [
            (last - first, index) for index, (first, last, *_) in enumerate(statements) if first <= position < last
        ]
        if holding:
            _, _, body, statement = statements[min(holding)[1]]
            body.insert(body.index(statement), _probe(number, statement))
    for function in functions:
        is_text = isinstance(function.body[0], ast.Expr) and isinstance(function.body[0].value, ast.Constant)
        function.body.insert(int(is_text), _probe(path, function.body[0]))
    return tree


def _probe(text: str, at: ast.stmt) -> ast.stmt:
    call = ast.Call(ast.Name(PROBE, ast.Load()), [ast.Constant(text)], [])
    return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), at))


def _probe_imports(chosen: Mapping[str, Mapping[str, int]]) -> None:
    """Put probes into the modules that are imported from now on."""
    original = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        file = loader.get_filename(fullname)
        path = next((path for path in chosen if file.endswith(f"/{path}")), "")
        if not path:
            return original(loader, fullname)
        return compile(probed(path, Path(file).read_bytes(), chosen[path]), file, "exec", dont_inherit=True)

    setattr(builtins, PROBE, _ran.add)
    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _ran.clear()
    start = time.monotonic()
    result = yield
    _measured[item.nodeid] = (time.monotonic() - start, sorted(_ran))
    return result


def pytest_sessionfinish() -> None:
    Path(os.environ["MUTANTS_COVERAGE"]).write_text(json.dumps(_measured), encoding="utf-8")


def pytest_configure() -> None:
    _probe_imports(json.loads(Path(os.environ["MUTANTS_CHOSEN"]).read_text(encoding="utf-8")))
