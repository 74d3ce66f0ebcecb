"""Which room of the package may look into which: the flows of the design, kept by a test."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "toolc"
CORE = frozenset(
    "source errors checked diagnostics spec spec_agent spec_backends spec_composite spec_function spec_http schema "  # noqa: SIM905
    "json_pointer template template_json registry call plan result events changes "
    "confirmation plan_http hosts loopback attempt authority calls lock policy provider_names".split()
)
SEES: dict[str, frozenset[str]] = {
    **dict.fromkeys(CORE, CORE),
    "digest": CORE,
    "assets": CORE,
    "validation": CORE,
    "compiler": CORE | {"assets", "digest", "providers", "validation"},
    "providers": CORE | {"validation"},
    "backends": CORE,
    "importers": CORE | {"backends"},
    "reporters": CORE,
    "engines": CORE | {"assets", "guest"},
    "guest": frozenset(),
    "data": frozenset(),
    "runtime": CORE | {"backends", "engines", "guest", "digest", "providers", "validation"},
    "secret_sources": CORE | {"compiler"},
    "configuration": CORE | {"compiler", "engines", "secret_sources"},
    "functions": CORE | {"compiler", "digest", "validation"},
    "registry_file": CORE | {"digest"},
    "review": CORE | {"__init__", "compiler", "digest", "providers", "registry_file", "reporters", "validation"},
    "messages": CORE | {"providers"},
    "tools": CORE,
    "policy_file": CORE | {"compiler"},
    "read_result": CORE | {"functions", "runtime"},
    "executor": CORE | {"api", "configuration", "engines", "messages", "read_result", "runtime", "secret_sources"},
    "api": CORE
    | {"assets", "digest", "compiler", "executor", "functions", "messages", "providers", "backends"}
    | {"engines", "registry_file", "runtime", "tools"},
    "serve": CORE | {"api", "backends", "engines", "runtime", "providers"},
    "cli": CORE
    | {"__init__", "api", "assets", "compiler", "digest", "engines", "reporters", "runtime", "serve", "providers"}
    | {"backends", "configuration", "data", "importers", "policy_file", "review", "secret_sources"},
    "__init__": CORE | {"api", "compiler", "configuration", "functions", "messages", "runtime"},
    "__main__": frozenset({"cli"}),
}
"""What each top-level module or folder may import, besides itself and the standard library."""

THIRD_PARTY: dict[str, frozenset[str]] = {
    "digest": frozenset({"rfc8785"}),
    "compiler": frozenset({"yaml", "tomli", "jinja2", "jmespath", "jsonschema", "referencing"}),
    "validation": frozenset({"jsonschema", "referencing"}),
    "guest": frozenset({"jinja2", "jmespath"}),  # toolc/guest/brought.py: their source is sent
    "runtime": frozenset({"jsonschema", "jmespath", "referencing", "anthropic", "httpcore2", "httpx2", "openai"}),
    "engines": frozenset({"docker", "urllib3"}),
    "functions": frozenset({"jsonschema"}),
    "api": frozenset({"jsonschema"}),
    "serve": frozenset({"mcp", "mcp_types", "anyio"}),
    "cli": frozenset({"click"}),
}
"""Which packages from elsewhere each may use; nobody else may use any."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "toolc":
            yield from (f"toolc.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.slow
@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_room_may_see(path: Path) -> None:
    here = room(path)
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "toolc":
            target = rest.partition(".")[0] or "__init__"
            assert target == here or target in SEES[here], f"{here} must not import {name}"
        elif top not in sys.stdlib_module_names:
            assert top in THIRD_PARTY.get(here, frozenset()), f"{here} must not import {name}"


def test_every_room_is_known_here() -> None:
    assert {room(path) for path in modules()} <= set(SEES)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_engine_words_stay_with_the_engines(path: Path) -> None:
    if room(path) == "engines":
        return
    words = set(path.read_text(encoding="utf-8").lower().replace(".", " ").replace("_", " ").split())
    assert not words & {"docker", "runc", "oci", "dockerd", "containerd"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_has_more_than_600_lines(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count("\n") <= 600


def test_the_guest_speaks_old_python() -> None:
    for path in sorted((PACKAGE / "guest").glob("*.py")):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


@pytest.mark.parametrize("room_name", ["runtime", "backends", "providers", "reporters", "serve", "compiler"])
def test_only_engines_start_processes(room_name: str) -> None:
    for path in sorted((PACKAGE / room_name).rglob("*.py")):
        assert not {"subprocess", "multiprocessing", "pty"} & set(imports(path)), path
