"""Names and phrases that were replaced do not return: see ``retired_names.txt`` and ``retired_phrases.txt``."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from project.architecture_imports import PACKAGE, definitions, sources, tree

HERE = Path(__file__).parent
ROOT = PACKAGE.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(path for path in (PACKAGE / "data").rglob("*") if path.suffix in {".md", ".toml", ".yaml"}),
    *sorted(path for path in (ROOT / ".ci").iterdir() if path.is_file()),
    ROOT / "Makefile",
    ROOT / "pyproject.toml",
]
TESTS = sorted((ROOT / "tests").rglob("*.py"))


@cache
def entries(name: str) -> list[str]:
    """Return the lines of a list, without comments and empty lines."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@cache
def names_and_comments(path: Path) -> tuple[dict[str, int], list[tuple[int, str]]]:
    """Return the names in a Python file with the first line of each, and the comments with their lines."""
    names: dict[str, int] = {}
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.NAME:
            names.setdefault(token.string, token.start[0])
        elif token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.string))
    return names, comments


def retired_identifiers(path: Path) -> dict[str, int]:
    """Return the retired names in a Python file with the first line of each."""
    names, _ = names_and_comments(path)
    return {name: names[name] for name in entries("retired_names.txt") if name in names}


@pytest.mark.parametrize("module", sources())
def test_retired_names_do_not_return(module: str) -> None:
    assert retired_identifiers(sources()[module]) == {}


def test_retired_names_do_not_return_in_tests() -> None:
    retired = set(entries("retired_names.txt"))
    assert [path.name for path in TESTS if path.stem.removeprefix("test_") in retired] == []
    assert {path.name: found for path in TESTS if (found := retired_identifiers(path))} == {}


def test_retired_definitions_do_not_return() -> None:
    for each in entries("retired_names.txt"):
        module, _, name = each.partition(":")
        if name:
            assert module in sources(), f"{each}: the module was moved; update the list"
            assert name not in definitions(module), each


def texts_of_test(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the names, comments and docstrings of a test file with their lines; its other strings are data."""
    names, comments = names_and_comments(path)
    yield from comments
    yield from ((line, name.replace("_", " ")) for name, line in names.items())
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


@cache
def texts() -> list[tuple[str, int, str]]:
    """Return every text that is checked, in lower case, with its file and first line."""
    found = [(str(path.relative_to(ROOT)), 1, path.read_text(encoding="utf-8")) for path in PAGES]
    for module, path in sources().items():
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append((str(path.relative_to(ROOT)), node.lineno, node.value))
    for path in TESTS:
        found += [(str(path.relative_to(ROOT)), line, text) for line, text in texts_of_test(path)]
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
