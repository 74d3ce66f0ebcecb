"""What modules may import besides the layers, which import-linter checks (see ``pyproject.toml``)."""

import ast
import re
import sys

import pytest
from project.architecture_imports import imports, package_of, public_names, sources, tree

MCP = {"anyio", "mcp", "mcp_types", "pydantic"}
THIRD_PARTY: dict[str, set[str]] = {
    "model": {"rfc8785"},
    "document": {"yaml", "tomli"},
    "importers": {"yaml"},  # documents of others are larger than specs, and need no positions
    "compiler": {"docstring_parser", "yaml", "jinja2", "jmespath", "jsonschema", "referencing"},
    "validation": {"idna", "jsonschema", "referencing"},
    "guest": {"jinja2", "jmespath"},  # in toolc.guest.http.shaping: the host sends their source
    "runtime": {"jsonschema", "jmespath", "referencing", "anthropic", "httpx2", "openai"} | MCP,
    "sandbox": {"docker", "urllib3"},
    "client": {"jsonschema"},
    "adapters": {"agents", "google", "inspect_ai", "langchain_core", "pydantic", "pydantic_ai", "smolagents"},
    "cluster": {"ray"},
    "serve": {"h11", "jwt", "pydantic", "starlette", "uvicorn"} | MCP,
    "telemetry": {"opentelemetry", "prometheus_client"},
    "cli": {"click"},
}
"""The packages from elsewhere that each package of toolc may import."""

LOCAL_IMPORTS = (
    "toolc.cli.commands", "toolc.guest.worker", "toolc.compiler.decode.backend",
)  # fmt: skip
"""Where imports inside functions need no reason: commands, the worker of the guest and the readers of backends."""

TABLES = {"toolc.providers", "toolc.backends", "toolc.reporters"}
"""Packages whose ``__init__`` imports each of their modules when it is used."""

MAX_LOCAL_IMPORTS = 109
"""The maximum number of other imports inside functions. Each has a reason: the CPU time that it would add to the
module's import, as the least of 15 runs."""

STARTS_NO_PROCESSES = ("runtime", "backends", "providers", "reporters", "serve", "compiler")
FORKS = "toolc.compiler.pipeline.processes"
"""The module that distributes the compilation to copies of the process. It starts no other program."""
REPORTS = "toolc.serve.page.reports"
"""The module that runs toolc itself, because a server must not wait while specs are compiled and compared."""

ENGINE_WORDS = {"docker", "runc", "oci", "dockerd", "containerd"}
WITH_ENGINE_WORDS = ("toolc.sandbox", "toolc.doctor", "toolc.cli.commands.image")


@pytest.mark.parametrize("module", sources())
def test_third_party_packages_are_used_only_where_allowed(module: str) -> None:
    package = [*module.split("."), ""][1]
    for each in imports(module):
        top = each.module.partition(".")[0]
        if top not in sys.stdlib_module_names and top != "toolc":
            assert top in THIRD_PARTY.get(package, set()), f"{module}:{each.line} must not import {top}"


def test_imports_inside_functions_are_few_and_have_a_reason() -> None:
    found = []
    for module in sources():
        if module == "toolc" or module in TABLES or module.startswith(LOCAL_IMPORTS):
            continue
        lines = sources()[module].read_text(encoding="utf-8").splitlines()
        for line in {each.line for each in imports(module) if each.is_local}:
            found.append(f"{module}:{line}")
            assert re.search("# (noqa: F401  )?lazy: ", lines[line - 1]), f"{found[-1]} lacks a reason"
    assert len(found) <= MAX_LOCAL_IMPORTS, found


def used_attributes(module: str) -> set[tuple[str, str, int]]:
    """Return each ``name.attribute`` where ``name`` is an imported module of toolc: module, attribute, line."""
    bound: dict[str, str] = {}
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                if f"{node.module}.{each.name}" in sources():
                    bound[each.asname or each.name] = f"{node.module}.{each.name}"
    return {
        (bound[node.value.id], node.attr, node.lineno)
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound
    }


def top_package(module: str) -> str:
    return ".".join(package_of(module).split(".")[:2])


@pytest.mark.parametrize("module", sources())
def test_other_packages_use_only_public_names(module: str) -> None:
    uses = {(each.module, each.name, each.line) for each in imports(module) if each.name and each.module in sources()}
    for target, name, line in sorted(uses | used_attributes(module)):
        if target == "toolc" or top_package(target) == top_package(module) or f"{target}.{name}" in sources():
            continue
        if module == "toolc" or name == "__file__":
            continue
        assert name in public_names(target), f"{module}:{line}: no docstring lists {name!r} of {target}"


def test_the_guest_runs_on_python_3_9() -> None:
    for module, path in sources().items():
        if module.startswith("toolc.guest"):
            ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


@pytest.mark.parametrize("package", STARTS_NO_PROCESSES)
def test_only_sandboxes_start_processes(package: str) -> None:
    for module in sources():
        if module.startswith(f"toolc.{package}") and module != REPORTS:
            refused = {"subprocess", "pty"} if module == FORKS else {"subprocess", "multiprocessing", "pty"}
            assert not refused & {each.module for each in imports(module)}, module


@pytest.mark.parametrize("module", sources())
def test_engine_words_stay_with_the_sandboxes(module: str) -> None:
    if module.startswith(WITH_ENGINE_WORDS):
        return
    words = set(sources()[module].read_text(encoding="utf-8").lower().replace(".", " ").replace("_", " ").split())
    assert not words & ENGINE_WORDS
