"""Imports of Python tools (TC415): files that are not listed, and packages that are not installed."""

from __future__ import annotations

import ast
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolc.cli.main import cli
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.text_analysis.python_syntax import TooManyStepsError, in_older_syntax, steps_to_parse, syntax_tree
from toolc.data.python_modules import STANDARD_LIBRARY, package_name, provides
from toolc.model.diagnostics import step_budget

HEAD = "toolc: 1\nname: hello\ndescription: Say hello to the whole world, in a friendly way.\nparameters: {}\n"
FUNCTION = "\ndef hello():\n    pass\n"


def found(
    folder: Path, code: str, *, more: str = "", sandbox: str = "", files: dict[str, str] | None = None
) -> list[str]:
    """Return severity, message and hint of each TC415 of a tool with this code, and the codes of other findings."""
    for name, text in {"tool.py": code + FUNCTION, **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    spec = f"{HEAD}backend:\n  python:\n    file: tool.py\n{more}{sandbox}"
    (folder / "spec.yaml").write_text(spec, encoding="utf-8")
    findings = compile_specs([folder / "spec.yaml"]).diagnostics.sorted()
    return [
        f"{each.code.severity}: {each.message}; {each.hint}" if each.code.number == "TC415" else each.code.number
        for each in findings
        if each.code.number not in {"TC501", "TC502"}
    ]


def unlisted(name: str, path: str, listed: str, folder: Path) -> str:
    return f"error: '{name}' is in {folder}/{path}, which is not a file of the tool; add files: [{listed}]"


@pytest.mark.parametrize(
    ("code", "files", "expected"),
    [
        ("import helpers", {"helpers.py": ""}, [("helpers", "helpers.py", "helpers.py")]),
        ("from helpers import a", {"helpers.py": "a = 1"}, [("helpers", "helpers.py", "helpers.py")]),
        ("import helpers as h, json", {"helpers.py": ""}, [("helpers", "helpers.py", "helpers.py")]),
        ("def f():\n    import helpers", {"helpers.py": ""}, [("helpers", "helpers.py", "helpers.py")]),
        ("import a", {"a.py": "import b", "b.py": "import c", "c.py": ""}, [("a", "a.py", "a.py, b.py, c.py")]),
        ("from lib import x", {"lib/__init__.py": "", "lib/x.py": ""},
         [("lib", "lib/__init__.py", "lib/__init__.py, lib/x.py")]),
        ("import lib.x", {"lib/x.py": ""}, [("lib.x", "lib/*.py", '"lib/*.py"')]),
        ("from .helpers import a", {"helpers.py": ""}, [(".helpers", "helpers.py", "helpers.py")]),
        ("from . import helpers", {"helpers.py": ""}, [(".helpers", "helpers.py", "helpers.py")]),
        ("try:\n    import helpers\nexcept ValueError:\n    pass", {"helpers.py": ""},
         [("helpers", "helpers.py", "helpers.py")]),
        ("import random", {"random.py": ""}, []),
        ("try:\n    import helpers\nexcept ImportError:\n    pass", {"helpers.py": ""}, []),
    ],
)  # fmt: skip
def test_a_file_next_to_the_spec_that_is_not_listed_is_an_error(
    tmp_path: Path, code: str, files: dict[str, str], expected: list[tuple[str, str, str]]
) -> None:
    assert found(tmp_path, code, files=files) == [unlisted(*each, tmp_path) for each in expected]


def test_the_fix_lists_the_files(tmp_path: Path) -> None:
    found(tmp_path, "import a", files={"a.py": "import b", "b.py": ""})
    CliRunner().invoke(cli, ["check", "--unsafe-fixes", str(tmp_path)])
    assert '    files: ["a.py", "b.py"]\n' in (tmp_path / "spec.yaml").read_text(encoding="utf-8")
    assert not compile_specs([tmp_path]).diagnostics.has_errors


def test_a_file_that_a_listed_file_imports_is_reported_in_that_file(tmp_path: Path) -> None:
    files = {"a.py": "\nimport b\n", "b.py": ""}
    assert found(tmp_path, "import a", more="    files: [a.py]\n", files=files) == [
        f"error: 'b' is in {tmp_path}/b.py, which is not a file of the tool; add b.py to 'files'"
    ]
    (finding,) = compile_specs([tmp_path]).diagnostics.sorted()
    assert str(finding.span) == f"{tmp_path}/a.py:2:1"


@pytest.mark.parametrize(
    "code",
    [
        "import lib", "import lib.x", "from lib import x", "from lib.x import y", "from lib import value",
        "from lib.sub import z", "import lib.sub.z",
    ],
)  # fmt: skip
def test_listed_packages_are_found(tmp_path: Path, code: str) -> None:
    files = {
        "lib/__init__.py": "value = 1\nfrom . import x\n", "lib/x.py": "from .sub import z\nfrom .. import lib\n",
        "lib/sub/z.py": "",
    }  # fmt: skip
    assert found(tmp_path, code, more='    files: ["lib/**/*.py"]\n', files=files) == []


def test_a_module_of_a_listed_package_that_is_not_listed_is_an_error(tmp_path: Path) -> None:
    files = {"lib/__init__.py": "", "lib/x.py": ""}
    assert found(tmp_path, "from lib import x", more="    files: [lib/__init__.py]\n", files=files) == [
        f"error: 'lib.x' is in {tmp_path}/lib/x.py, which is not a file of the tool; add lib/x.py to 'files'"
    ]


OPTIONAL = [
    "try:\n    import numpy\nexcept ImportError:\n    numpy = None",
    "try:\n    import numpy\nexcept (KeyError, ModuleNotFoundError):\n    import foo",
    "try:\n    import numpy\nexcept Exception:\n    pass",
    "try:\n    import numpy\nexcept:\n    pass",
    "import contextlib\nwith contextlib.suppress(ImportError):\n    import numpy",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy",
    "import typing\nif typing.TYPE_CHECKING:\n    import numpy",
    "if not typing.TYPE_CHECKING:\n    pass\nelse:\n    import numpy",
    "import sys\nif sys.version_info >= (3, 11):\n    import tomllib\nelse:\n    import tomli",
]


@pytest.mark.parametrize(
    "code",
    [
        "import json, os.path",
        "import distutils",
        "import annotationlib",
        "from __future__ import annotations",
        *OPTIONAL,
    ],
)
def test_the_standard_library_and_optional_imports_are_not_reported(tmp_path: Path, code: str) -> None:
    assert found(tmp_path, code) == []


@pytest.mark.parametrize(
    ("code", "name", "package"),
    [
        ("import numpy as np", "numpy", "numpy"), ("from yaml import safe_load", "yaml", "pyyaml"),
        ("import requests.auth", "requests", "requests"), ("def f():\n    import cv2", "cv2", "opencv-python"),
        ("from google.cloud import storage", "google", "google-cloud"),
        ("import numpy\nimport numpy.x", "numpy", "numpy"),
        ("if typing.TYPE_CHECKING:\n    pass\nelse:\n    import numpy", "numpy", "numpy"),
        ("import typing as t\nif t.TYPE_CHECKING:\n    pass\nelse:\n    import numpy", "numpy", "numpy"),
        ("if not TYPE_CHECKING:\n    import numpy", "numpy", "numpy"),
    ],
)  # fmt: skip
def test_a_package_without_requirements_is_an_error(tmp_path: Path, code: str, name: str, package: str) -> None:
    (message,) = found(tmp_path, code)
    what, _, hint = message.partition("; ")
    assert what == f"error: '{name}' is not in the standard library, and the tool installs no packages"
    assert hint == f"add requirements: [{package}==VERSION], or set sandbox.image to an image that has it"


def test_inline_code_is_checked_at_its_line(tmp_path: Path) -> None:
    code = "    code: |\n      import json\n      import yaml\n      def hello():\n          pass\n"
    (tmp_path / "spec.yaml").write_text(f"{HEAD}backend:\n  python:\n{code}", encoding="utf-8")
    (finding,) = compile_specs([tmp_path]).diagnostics.sorted()
    assert (finding.code.number, str(finding.span)) == ("TC415", f"{tmp_path}/spec.yaml:9:7")


@pytest.mark.parametrize("sandbox", ["{image: 'python:3.12-slim'}", "{build: image}"])
def test_with_an_image_packages_are_not_reported(tmp_path: Path, sandbox: str) -> None:
    files = {"image/Dockerfile": "FROM python:3.12-slim\n"}
    assert found(tmp_path, "import numpy", sandbox=f"sandbox: {sandbox}\n", files=files) == []


@pytest.mark.parametrize(
    ("requirement", "code"), [("pyyaml==6.0.2", "import yaml"), ("pandas==2.2.3", "import pandas\nimport numpy")]
)
def test_with_requirements_packages_are_not_reported(tmp_path: Path, requirement: str, code: str) -> None:
    assert found(tmp_path, code, more=f'    requirements: ["{requirement}"]\n') == []


@pytest.mark.parametrize("requirements", ["pyyaml==6.0.2", "python-yaml==1.0"])
def test_a_file_with_the_name_of_an_installed_module_is_not_reported(tmp_path: Path, requirements: str) -> None:
    assert found(tmp_path, "import yaml", more=f"    requirements: [{requirements}]\n", files={"yaml.py": ""}) == []


def test_the_table_contains_the_standard_library_of_this_python() -> None:
    assert sys.stdlib_module_names <= STANDARD_LIBRARY
    assert {"distutils", "imp", "binhex", "tomllib", "annotationlib", "compression"} <= STANDARD_LIBRARY


@pytest.mark.parametrize(
    ("module", "package"),
    [("yaml", "pyyaml"), ("PIL", "pillow"), ("sklearn", "scikit-learn"), ("bs4", "beautifulsoup4"),
     ("dotenv", "python-dotenv"), ("ruamel.yaml", "ruamel-yaml"), ("google.cloud.storage", "google-cloud-storage")],
)  # fmt: skip
def test_packages_named_differently_from_their_modules_are_known(module: str, package: str) -> None:
    assert package_name(module) == package
    assert provides([package], module)
    assert not provides(["another"], module)


NEWER = [
    "type Point = tuple[int, int]\nimport yaml\n",
    "def first[T](items: list[T]) -> T:\n    import yaml\n",
    "class Box[T: (int, str) = int](list[T]):\n    import yaml\n",
    "import yaml\nx = t'hello {name}'\n",
    "try:\n    import yaml\nexcept KeyError, ValueError:\n    pass\n",
]


@pytest.mark.parametrize("code", NEWER)
def test_newer_syntax_is_read_with_the_same_positions(tmp_path: Path, code: str) -> None:
    assert len(in_older_syntax(code)) == len(code)
    assert isinstance(syntax_tree(code), ast.Module)
    (message,) = found(tmp_path, code)
    assert message.startswith("error: 'yaml' is not in the standard library")


def test_strings_and_comments_are_not_rewritten() -> None:
    code = "x = '''\ntype A = int\ndef f[T](x): ...\n'''\n# except A, B:\ny = \"type X = 1\"\n"
    assert in_older_syntax(code) == code


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads these f-strings")
def test_an_f_string_of_python_3_12_is_not_an_error(tmp_path: Path) -> None:
    assert found(tmp_path, "d = {}\nx = f'{d['a']}'\n") == []


def test_a_syntax_error_is_still_an_error(tmp_path: Path) -> None:
    assert found(tmp_path, "def broken(:\n    pass\n") == ["TC112"]


@pytest.mark.parametrize(
    "text",
    ["type a" + " " * 160_000 + "x", "except a, b:\n" * 50_000, "type a = 1\n" * 50_000],
    ids=lambda text: text[:8],
)
def test_long_code_is_rewritten_in_linear_time(text: str) -> None:
    start = time.process_time()
    in_older_syntax(text)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("field", ["{x}", "a{x:b}", '{f"{x}"}'])
def test_an_f_string_with_too_many_fields_is_not_parsed(tmp_path: Path, field: str) -> None:
    quotes = "'''"
    code = f"x = f{quotes}{field * (640_000 // len(field))}{quotes}\n"
    with step_budget(len(code)) as budget:
        for _ in range(2):
            with pytest.raises(TooManyStepsError):
                syntax_tree(code)
    assert [*budget.unfinished] == ["the syntax tree of Python code"]
    assert found(tmp_path, code) == ["TC016"]


def test_many_f_strings_need_no_steps() -> None:
    assert steps_to_parse("x = f'{a} {b}'\n" * 40_000) == 0
    assert steps_to_parse("x = '" + "{x}" * 100_000 + "'") == 0
