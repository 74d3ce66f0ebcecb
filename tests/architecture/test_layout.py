"""The size of modules and folders, and what the ``__init__`` of a package holds."""

import ast
import re
from collections import Counter
from functools import cache

import pytest
from project.architecture_imports import PACKAGE, definitions, docstring_items, imports, package_of, sources, tree

MAX_LINES = 600
MAX_MODULES = 20
MAX_FAMILY = 30
FAMILIES = {
    "toolc.adapters", "toolc.backends", "toolc.cli.commands", "toolc.compiler.checks", "toolc.providers",
    "toolc.reporters",
}  # fmt: skip
"""Packages with one module per framework, command, check, provider, format or backend."""

WITH_CODE = {"toolc", "toolc.providers", "toolc.backends", "toolc.reporters", "toolc.compiler.checks"}
"""Packages whose ``__init__`` is a table of modules."""

TOP_LEVEL = {"__init__.py", "__main__.py", "py.typed"}
SMALL = 60
SMALL_MODULES = {
    "toolc.telemetry.attributes",  # the names of a convention that changes
    "toolc.telemetry.otlp_meter",  # needs an optional package
    "toolc.telemetry.prometheus_meter",  # needs an optional package
    "toolc.sandbox.python.wheels_only",  # runs as a process
    "toolc.runtime.argument_correction",  # most arguments need no correction
    "toolc.runtime.execution.retry",
    "toolc.runtime.execution.started_ahead",
    "toolc.guest.http.cookies",  # imported only if a redirect sets one
    "toolc.guest.loader",  # runs as a process
    "toolc.compiler.cache.cached_registry",
    "toolc.compiler.decode.servers",  # of every file, without the modules of the backend
    "toolc.compiler.pipeline.parallel_build",
    "toolc.runtime.sandboxed.mcp_offer",
    "toolc.runtime.sandboxed.plugin_description",
    "toolc.runtime.sandboxed.questions",
    "toolc.sandbox.images.debian",
    "toolc.serve.http.application",
    "toolc.serve.http.page",
    "toolc.serve.offered",
    "toolc.validation.ecma_advice",
}
"""Modules of fewer than 60 lines that have one importer: scripts, and subjects that readers search for by name."""


def modules() -> list[str]:
    return [name for name, path in sources().items() if path.name != "__init__.py"]


def packages() -> list[str]:
    return [name for name, path in sources().items() if path.name == "__init__.py"]


def lines(module: str) -> int:
    return sources()[module].read_text(encoding="utf-8").count("\n")


@pytest.mark.parametrize("module", sources())
def test_a_module_has_at_most_600_lines(module: str) -> None:
    assert lines(module) <= MAX_LINES


def test_a_folder_has_at_most_20_modules() -> None:
    folders = Counter(package_of(each) for each in modules())
    assert {
        name: count for name, count in folders.items() if count > (MAX_FAMILY if name in FAMILIES else MAX_MODULES)
    } == {}


def test_the_top_level_has_only_packages() -> None:
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert len(files - TOP_LEVEL) <= 2


def test_a_small_module_has_two_importers_or_a_reason() -> None:
    importers: Counter[str] = Counter()
    for each in sources():
        importers.update({found.module for found in imports(each)} - {each})
    small = {
        each
        for each in modules()
        if lines(each) < SMALL and importers[each] < 2 and package_of(each) not in FAMILIES and each != "toolc.__main__"
    }
    assert small - SMALL_MODULES == set()


@pytest.mark.parametrize("package", packages())
def test_the_init_of_a_package_has_only_a_docstring(package: str) -> None:
    body = tree(package).body
    assert isinstance(next(iter(body), None), ast.Expr), f"{package} has no docstring"
    if package not in WITH_CODE:
        assert len(body) == 1, f"{package} has code"


@pytest.mark.parametrize("package", packages())
def test_the_docstring_of_a_package_describes_its_modules_and_names_what_exists(package: str) -> None:
    text = ast.get_docstring(tree(package)) or ""
    inside = {each.rpartition(".")[2] for each in sources() if each.rpartition(".")[0] == package} - {"__main__"}
    assert {each for each in inside if f"``{each}``" not in text} == set()
    named = set(re.findall(r"``([A-Za-z_][\w.]*)``", text)) | set(re.findall(r"toolc\.\w+\.[\w.]*\w", text))
    assert {each for each in named if not set(each.split(".")) <= words()} == set()
    paths = {each for each in named if each.startswith("toolc.") and each.count(".") > 1}
    assert {each for each in paths if not {each, each.rpartition(".")[0]} & sources().keys()} == set()


@pytest.mark.parametrize("package", packages())
def test_the_docstring_of_a_package_says_where_to_start_and_what_it_may_import(package: str) -> None:
    text = " ".join((ast.get_docstring(tree(package)) or "").split())
    assert re.search(r"Start reading (in ``|here\b)", text)
    assert "May import: " in text


@pytest.mark.parametrize("package", packages())
def test_a_module_defines_the_public_names_in_the_docstring_of_its_package(package: str) -> None:
    for name, text in docstring_items(package).items():
        listed = set(re.findall(r"``(\w+)``", text.partition("Public:")[2]))
        assert listed - {*definitions(f"{package}.{name}")} == set(), name


def test_only_toolc_itself_repeats_its_public_names() -> None:
    assert [each for each in sources() if "__all__" in definitions(each)] == ["toolc"]


@cache
def words() -> set[str]:
    """Return the words of all modules and of the schema of specs, without the docstrings of packages."""
    texts = [ast.unparse(node) for each in packages() for node in tree(each).body[1:]]
    texts += [sources()[each].read_text(encoding="utf-8") for each in modules()]
    return set(re.findall(r"\w+", " ".join([*sources(), *texts])))
