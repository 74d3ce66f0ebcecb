"""What an import of a Python file generates, and what it leaves out with a reason and a place."""

import ast
from pathlib import Path

import pytest
import yaml
from cli.python_sources import DATACLASSES, FASTMCP, LANGCHAIN, LANGCHAIN_SCHEMA, SOURCES, PythonSource

from toolc.importers.python.generate import Generated, generate
from toolc.importers.python.modules import Modules
from toolc.importers.tool_names import ToolNames
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject

NOTHING: dict[str, str] = {}


def imported(
    folder: Path,
    source: str | PythonSource,
    function: str | None = None,
    *,
    path: str = "tools.py",
    versions: dict[str, str] = NOTHING,
) -> Generated:
    files = {path: source} if isinstance(source, str) else {path: source.text} | source.others
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return generate(Modules(folder), path, function, versions.get, ToolNames())


def spec(generated: Generated, name: str) -> JsonObject:
    value = yaml.safe_load(generated.files[f"{name}.yaml"])
    assert isinstance(value, dict)
    return value


def reasons(generated: Generated) -> list[tuple[str, str, str]]:
    return [(each.name, each.reason, each.place) for each in generated.left_out]


def test_a_tool_has_the_name_the_texts_and_the_hints_of_its_decorator(tmp_path: Path) -> None:
    generated = imported(tmp_path, FASTMCP)
    assert spec(generated, "freezes") == {
        "toolc": 1,
        "name": "freezes",
        "label": "Does it freeze?",
        "description": "Say whether water freezes at a temperature.",
        "parameters": {
            "type": "object",
            "properties": {
                "degrees": {"type": "number", "description": "In degrees Celsius"},
                "salt": {"type": "boolean", "default": False},
            },
            "required": ["degrees"],
            "additionalProperties": False,
        },
        "backend": {"python": {"file": "freezes.py", "function": "is_freezing"}},
        "annotations": {"read_only": True, "open_world": False},
    }
    degrees = {"type": "number", "description": "The temperature, e.g. 20", "minimum": -273.15}
    assert spec(generated, "convert")["parameters"]["properties"]["degrees"] == degrees  # type: ignore[index, call-overload]


def test_the_code_of_a_tool_is_only_what_it_needs(tmp_path: Path) -> None:
    generated = imported(tmp_path, LANGCHAIN)
    assert (
        generated.files["total.py"]
        == '''\
# From tools.py, by toolc import python: only what its tools need.
from __future__ import annotations

PRICES = {"tea": 3, "milk": 2}


def price_of(name: str) -> int:
    return PRICES.get(name, 0)


def total(names: list[str], discount: float = 0.0) -> float:
    """Add up the prices of some products in the shop."""
    return sum(map(price_of, names)) * (1 - discount)
'''
    )
    assert "PRICES" not in generated.files["shout.py"]


@pytest.mark.parametrize("name", SOURCES)
def test_no_framework_and_no_agent_remains(name: str, tmp_path: Path) -> None:
    generated = imported(tmp_path, SOURCES[name])
    assert generated.left_out == []
    assert {each for each in generated.files if each.endswith(".yaml")} == {
        f"{each}.yaml" for each in SOURCES[name].calls
    }
    for file, text in generated.files.items():
        if file.endswith(".py"):
            ast.parse(text)
            for word in ("fastmcp", "langchain", "smolagents", "agents import", "Agent(", "anthropic", "__main__"):
                assert word not in text.lower() or word == "Agent(", (file, word)


def test_a_model_becomes_the_parameters_of_a_tool(tmp_path: Path) -> None:
    assert spec(imported(tmp_path, LANGCHAIN_SCHEMA), "search")["parameters"] == {
        "type": "object",
        "properties": {
            "words": {"type": "array", "items": {"type": "string"}, "description": "What to look for", "minItems": 1},
            "limit": {
                "type": "integer", "minimum": 1, "maximum": 50, "description": "How many results", "default": 10,
            },
        },
        "required": ["words"],
        "additionalProperties": False,
    }  # fmt: skip


def test_a_model_as_an_argument_is_created_from_json(tmp_path: Path) -> None:
    text = """\
        from pydantic import BaseModel
        class Base(BaseModel):
            name: str
        class Pet(Base):
            age: int | None = None
            _id = 3
        def add(pet: Pet, more: list[Pet] | None = None) -> str:
            '''Add a pet to the shop.'''
            return pet.name
    """.replace("\n        ", "\n").strip()
    generated = imported(tmp_path, text, versions={"pydantic": "2.12.0"})
    assert "class Base(BaseModel):" in generated.files["add.py"]
    assert 'add(**_from_json({"pet": Pet.model_validate, "more": lambda value:' in generated.files["add.py"]
    found = spec(generated, "add")
    assert found["backend"] == {
        "python": {"file": "add.py", "function": "add_from_json", "requirements": ["pydantic==2.12.0"]}
    }
    pet = found["parameters"]["properties"]["pet"]  # type: ignore[index, call-overload]
    assert pet["required"] == ["name"]  # type: ignore[index, call-overload]
    assert set(pet["properties"]) == {"name", "age"}  # type: ignore[index, call-overload, arg-type]


def test_classes_are_described_where_they_are_used(tmp_path: Path) -> None:
    order = spec(imported(tmp_path, DATACLASSES), "describe")["parameters"]["properties"]["order"]  # type: ignore[index, call-overload]
    item = order["properties"]["items"]["items"]  # type: ignore[index, call-overload]
    assert item["properties"]["name"] == {"type": "string", "description": "What it is."}  # type: ignore[index, call-overload]
    assert item["properties"]["size"] == {"type": "integer", "enum": [1, 2]}  # type: ignore[index, call-overload]
    assert order["required"] == ["items"]  # type: ignore[index, call-overload]


@pytest.mark.parametrize(
    ("signature", "schema"),
    [
        ("x: int | None", {"type": ["integer", "null"]}),
        ("x: 'Optional[List[str]]'", {"type": ["array", "null"], "items": {"type": "string"}}),
        ("x: Union[str, List[int]]", {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}),
        ("x: Literal['a', 'b']", {"type": "string", "enum": ["a", "b"]}),
        ("x: Dict[str, float]", {"type": "object", "additionalProperties": {"type": "number"}}),
        ("x: tuple[int, ...]", {"type": "array", "items": {"type": "integer"}}),
        ("x: Annotated[str, 'A word', {'maxLength': 9}]", {"type": "string", "description": "A word", "maxLength": 9}),
        ("x: Alias", {"type": "string", "enum": ["p", "q"]}),
        ("x: Any", {}),
        ("x", {}),
    ],
)
def test_hints_become_schemas(signature: str, schema: JsonObject, tmp_path: Path) -> None:
    text = (
        "from typing import *\nfrom typing import Annotated, Any, Dict, List, Literal, Optional, Union\n"
        f"Alias = Literal['p', 'q']\ndef f({signature}):\n    '''Do one thing.'''\n"
    )
    assert spec(imported(tmp_path, text), "f")["parameters"]["properties"] == {"x": schema}  # type: ignore[index, call-overload]


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("@mcp.tool\ndef f(ctx: Context):\n    'Do it.'\n", "a Context exists only in fastmcp", "7:12"),
        ("@mcp.tool\ndef f(*names: str):\n    'Do it.'\n", "names cannot be passed by its name; declare each parameter", "7:8"),
        ("@mcp.tool\ndef f(x: complex):\n    'Do it.'\n", "the type complex has no JSON form that toolc knows", "7:10"),
        ("@mcp.tool\ndef f(x: int):\n    pass\n", "it has no docstring to use as its description", "7:1"),
        ("@mcp.tool\ndef f():\n    'Do it.'\n    return mcp.name\n", "its code uses FastMCP, which is part of fastmcp", "4:7"),
        ("@mcp.tool(name=NAME)\ndef f():\n    'Do it.'\n", "input() is not a constant text", "5:8"),
        ("@mcp.tool(enabled=False)\ndef f():\n    'Do it.'\n", "enabled=False cannot be expressed in a spec", "6:19"),
        ("def g():\n    @mcp.tool\n    def f():\n        'Do it.'\n", "it is inside a class or function, so a call cannot reach it", "8:5"),
        ("class A:\n    x: 'A'\n@mcp.tool\ndef f(x: A):\n    'Do it.'\n", "A has no JSON form; make it a dataclass, a TypedDict or a model", "6:1"),
        ("@dataclass\nclass A:\n    x: 'A'\n@mcp.tool\ndef f(x: A):\n    'Do it.'\n", "A contains itself", "7:1"),
        ("@mcp.tool\ndef f(x: Tuple[int, str]):\n    'Do it.'\n", "a tuple of a fixed length has no JSON form; use tuple[T, ...] or a list", "7:10"),
        ("import numpy\n@mcp.tool\ndef f():\n    'Do it.'\n    numpy.zeros(1)\n", "it imports packages whose versions are not known; pass --requirement numpy==VERSION", "8:1"),
    ],
)  # fmt: skip
def test_what_cannot_be_expressed_is_left_out_with_its_place(
    text: str, reason: str, place: str, tmp_path: Path
) -> None:
    start = (
        "from typing import Tuple\nfrom dataclasses import dataclass\nfrom fastmcp import Context, FastMCP\n"
        "mcp = FastMCP('a')\nNAME = input()\n"
    )
    assert reasons(imported(tmp_path, start + text)) == [("f", reason, f"tools.py:{place}")]


def test_permissions_are_the_hosts_and_secrets_in_the_code_of_the_tool(tmp_path: Path) -> None:
    text = """\
import os
import requests
BASE = "https://api.shop.example/v2"
def stock(item: str) -> dict:
    '''Get how much of an item is in stock, as https://docs.example/ says.'''
    token, region = os.environ["SHOP_TOKEN"], os.getenv("REGION", "eu")
    return requests.get(f"{BASE}/stock/{item}", headers={"Authorization": token}).json()
def free() -> str:
    '''Say hello to the user.'''
    return "hello"
def anywhere(url: str) -> str:
    '''Get a page from anywhere.'''
    return requests.get(url).text
"""
    generated = imported(tmp_path, text, versions={"requests": "2.32.5"})
    assert spec(generated, "stock")["sandbox"] == {
        "network": {"allow": ["api.shop.example:443"]},
        "secrets": {"SHOP_TOKEN": {"hosts": ["api.shop.example"], "expose": "env"}},
    }
    assert "sandbox" not in spec(generated, "free")
    assert generated.notes == [
        "stock: it reads the variable REGION; write it under sandbox.env",
        "anywhere: it makes HTTP requests; write its hosts under sandbox.network.allow",
    ]
    assert generated.versions == {"requests": "2.32.5"}


@pytest.mark.parametrize(
    "code",
    [
        "os.environ['REGION']",
        "environ['REGION']",
        "environ.get('REGION')",
        "os.environ.get('REGION', '')",
        "getenv('REGION')",
    ],
)
def test_every_way_to_read_a_variable_is_known(tmp_path: Path, code: str) -> None:
    text = f"import os\nfrom os import environ, getenv\ndef f() -> str:\n    '''Get a.'''\n    return {code}\n"
    assert imported(tmp_path, text).notes == ["f: it reads the variable REGION; write it under sandbox.env"]


def test_files_of_a_package_come_along_and_relative_imports_become_absolute(tmp_path: Path) -> None:
    for name, text in {
        "shop/__init__.py": "",
        "shop/core/__init__.py": "from .prices import PRICES\n",
        "shop/core/prices.py": "PRICES = {'tea': 3}\n",
        "shop/other.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    source = "from . import other\nfrom .core import PRICES as prices\ndef price(name: str) -> int:\n    '''Get a price.'''\n    return prices[name]\n"
    generated = imported(tmp_path, source, "price", path="shop/tools.py")
    assert "from shop.core import PRICES as prices\n" in generated.files["price.py"]
    assert spec(generated, "price")["backend"] == {
        "python": {"file": "price.py", "files": ["shop/__init__.py", "shop/core/__init__.py", "shop/core/prices.py"]}
    }


def test_siblings_are_imported_by_name_but_do_not_replace_the_standard_library(tmp_path: Path) -> None:
    for name in ("rates", "random"):
        (tmp_path / f"{name}.py").write_text("RATE = 2\n")
    source = "import random\nfrom . import rates\ndef rate() -> int:\n    '''Get a rate.'''\n    return rates.RATE, random.random()\n"
    generated = imported(tmp_path, source)
    assert "import random\nimport rates\n" in generated.files["rate.py"]
    assert {*generated.files} == {"rate.py", "rate.yaml", "rates.py"}


def test_statements_without_names_stay_if_what_they_use_stays(tmp_path: Path) -> None:
    text = """\
import logging, sys
import random
from dotenv import load_dotenv
load_dotenv()
random.seed(0)  # the same numbers each time
logging.basicConfig()
try:
    import json5 as json
except ImportError:
    import json
# What to say
TEXT = "hello"
def roll() -> int:
    '''Roll a die for the user.'''
    return json.loads(str(random.randint(1, 6))), TEXT
"""
    assert (
        imported(tmp_path, text).files["roll.py"].partition("annotations\n")[2]
        == """\

import random

random.seed(0)  # the same numbers each time

try:
    import json5 as json
except ImportError:
    import json

# What to say
TEXT = "hello"


def roll() -> int:
    '''Roll a die for the user.'''
    return json.loads(str(random.randint(1, 6))), TEXT
"""
    )


def test_one_function_is_imported_by_its_name(tmp_path: Path) -> None:
    assert [*imported(tmp_path, LANGCHAIN, "price_of").files] == []
    assert reasons(imported(tmp_path, LANGCHAIN, "price_of"))[0][:2] == (
        "price_of", "it has no docstring to use as its description",
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"tools\.py has no function 'missing'"):
        imported(tmp_path, LANGCHAIN, "missing")
    with pytest.raises(UsageError, match=r"tools\.py:1:\d: it is not Python: "):
        imported(tmp_path, "def\n")
