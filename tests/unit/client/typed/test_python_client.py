"""Python clients: accepted by ``mypy --strict``, importable, and with types that accept all valid values."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from calls import typed_tools
from project.paths import GOLDEN
from pydantic import TypeAdapter
from schemas.random_schemas import RandomSchemas

from toolc.client.typed.generate import client_text
from toolc.client.typed.python_client import docstring


@pytest.mark.parametrize("text", typed_tools.HOSTILE_TEXTS)
@pytest.mark.parametrize("indent", ["", "    "])
def test_a_docstring_is_one_string_with_the_whole_text(text: str, indent: str) -> None:
    block = "\n".join(docstring(text, indent))
    tree = ast.parse(f"if True:\n{block}\n" if indent else block)
    found = ast.get_docstring(ast.Module(tree.body[0].body if isinstance(tree.body[0], ast.If) else tree.body, []))
    assert found is not None
    assert "".join(found.split()) == "".join(text.split())


def test_a_string_that_is_not_closed_would_be_noticed() -> None:
    with pytest.raises(SyntaxError):
        ast.parse('"""ends with a quote""""')


@pytest.mark.parametrize("language", ["python", "pydantic"])
def test_the_client_of_each_construct_matches_the_golden_file(language: str, golden: bool) -> None:
    path = GOLDEN / "client" / f"{language}.py.txt"
    text = client_text(typed_tools.registered(typed_tools.constructs()), language)
    if golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("language", ["python", "pydantic"])
def test_hostile_clients_can_be_imported(language: str, tmp_path: Path) -> None:
    module = typed_tools.imported(tmp_path, [*typed_tools.hostile(), *typed_tools.constructs()], language)
    assert callable(module.Tools.tree)


@pytest.mark.slow
def test_types_accept_every_valid_value(tmp_path: Path) -> None:
    tools = [*typed_tools.constructs(), *typed_tools.random_tools(60)]
    module, values = typed_tools.imported(tmp_path, tools, "pydantic"), RandomSchemas(0)
    compared = 0
    for tool in tools:
        assert tool.result_schema is not None
        validator = jsonschema.Draft202012Validator(tool.result_schema.value)
        adapter: TypeAdapter[object] = TypeAdapter(module.Tools.__dict__[tool.name].__annotations__["return"])
        adapter.rebuild(_types_namespace=vars(module))
        for value in [values.value() for _ in range(60)]:
            if validator.is_valid(value):
                adapter.validate_python(value)
                compared += 1
    assert compared > 200


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "pydantic"])
def test_mypy_accepts_the_client(language: str, tmp_path: Path) -> None:
    tools = [*typed_tools.hostile(), *typed_tools.constructs(), *typed_tools.random_tools(100)]
    (tmp_path / "client.py").write_text(client_text(typed_tools.registered(tools), language), encoding="utf-8")
    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    assert mypy(tmp_path, "client.py", "use.py") == WRONG[language]


USE = """\
from client import AsyncTools, Tools, TreeArgumentsNeeded
from toolc import Executor, Registry

executor = Executor(Registry())
tools = Tools(executor)
right = tools.pair(needed=["a", 1], optional=["a"])
right_too = tools.class_(class_="a", from_="b")
tools.tree(needed=TreeArgumentsNeeded(name="a"))
tools.tree(needed={"name": "a"})
tools.pair()
tools.pair(needed=1)
tools.texts(needed="c")
tools.tree(needed=TreeArgumentsNeeded(name=1))


async def use() -> int:
    return await AsyncTools(executor).constant(needed="only")
"""
WRONG = {
    "python": ["10 call-arg", "11 arg-type", "12 arg-type", "13 typeddict-item", "17 return-value"],
    "pydantic": ["9 arg-type", "10 call-arg", "11 arg-type", "12 arg-type", "13 arg-type", "17 return-value"],
}
"""The lines of ``use.py`` with an error, and its code."""


def mypy(folder: Path, *names: str) -> list[str]:
    """Return the line and the code of each error of ``mypy --strict``; those in the first file with its whole text."""
    # What is known about toolc and pydantic is read from the cache that all tests use.
    options = ("--strict", "--no-error-summary", "--cache-dir", str(folder.parent / "mypy-cache"))
    command = [sys.executable, "-m", "mypy", *options, *names]
    env = {**os.environ, "MYPYPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    errors = [line for line in done.stdout.splitlines() if ": note:" not in line]
    return [re.sub(r"^use\.py:(\d+): .*\[([\w-]+)\]$", r"\1 \2", line) for line in errors]
