"""Names and phrases that were replaced do not return: see ``retired_names.txt`` and ``retired_phrases.txt``."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from architecture_imports import PACKAGE, sources, tree

HERE = Path(__file__).parent
ROOT = PACKAGE.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(path for path in (PACKAGE / "data").rglob("*") if path.suffix in {".md", ".toml", ".yaml"}),
]


def entries(name: str) -> list[str]:
    """Return the lines of a list, without comments and empty lines."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def definitions(module: str) -> Iterator[str]:
    """Yield the names that a module defines at its top level."""
    for node in tree(module).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for each in targets if isinstance(each, ast.Name))


@pytest.mark.parametrize("module", sources())
def test_retired_names_do_not_return(module: str) -> None:
    retired = {each for each in entries("retired_names.txt") if ":" not in each}
    text = sources()[module].read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        assert token.type != tokenize.NAME or token.string not in retired, f"{module}:{token.start[0]}: {token.string}"


def test_retired_definitions_do_not_return() -> None:
    for each in entries("retired_names.txt"):
        module, _, name = each.partition(":")
        if name:
            assert module in sources(), f"{each}: the module was moved; update the list"
            assert name not in definitions(module), each


@cache
def texts() -> list[tuple[str, int, str]]:
    """Return every text that is checked, in lower case, with its file and first line."""
    found = [(str(path.relative_to(ROOT)), 1, path.read_text(encoding="utf-8")) for path in PAGES]
    for module, path in sources().items():
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append((str(path.relative_to(ROOT)), node.lineno, node.value))
    plain = [(place, line, re.sub(r"`+[^`]*`+", "``", text)) for place, line, text in found]
    return [(place, line, re.sub(r"[ \t]*\n[ \t]*", "\n", text).lower()) for place, line, text in plain]


@pytest.mark.parametrize("entry", entries("retired_phrases.txt"))
def test_retired_phrases_do_not_return(entry: str) -> None:
    phrase, _, replacement = entry.partition(" -> ")
    pattern = re.compile(rf"\b(?:{phrase})\b".replace(" ", r"\s+"))
    found = [
        f"{place}:{line + text.count(chr(10), 0, match.start())}: {match.group()}"
        for place, line, text in texts()
        for match in pattern.finditer(text)
    ]
    assert found == [], f"write: {replacement}"
