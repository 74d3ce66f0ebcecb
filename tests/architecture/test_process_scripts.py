"""Modules that run as programs with ``python -I -S FILE`` import the standard library only."""

from __future__ import annotations

import ast
import sys

import pytest
from project.architecture_imports import imports, sources

from toolc.sandbox.host.janitor_process import KINDS

SCRIPTS = {
    "toolc.sandbox.host.janitor_process": set[str](),
    "toolc.sandbox.host.mount_helper_process": set[str](),
    "toolc.sandbox.python.portable": set[str](),
    "toolc.sandbox.python.wheels_only": {"pip"},
    "toolc.guest.loader": {"toolc"},  # it makes toolc.guest importable first
}
"""Each script, with what it may import besides the standard library."""

WITHOUT_SITE_PACKAGES = tuple(KINDS.values())
"""Modules that the janitor imports: they and what they import need no package from elsewhere."""


@pytest.mark.parametrize("module", SCRIPTS)
def test_a_script_imports_the_standard_library_only(module: str) -> None:
    for each in imports(module):
        top = each.module.partition(".")[0]
        assert top in sys.stdlib_module_names or top in SCRIPTS[module], f"{module}:{each.line}: {top}"


@pytest.mark.parametrize("module", WITHOUT_SITE_PACKAGES)
def test_a_sweep_imports_no_package_from_elsewhere(module: str) -> None:
    seen, todo = set[str](), [module]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        parts = current.split(".")
        todo += [".".join(parts[:count]) for count in range(1, len(parts))]
        local = {each.line for each in imports(current) if each.is_local} | type_checking_lines(current)
        for each in imports(current):
            if each.line in local:
                continue
            if each.module in sources():
                todo.append(each.module)
            else:
                assert each.module.partition(".")[0] in sys.stdlib_module_names, f"{current}:{each.line}"


def type_checking_lines(module: str) -> set[int]:
    """Return the lines of imports that run for type checkers only."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(sources()[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            found |= {each.lineno for each in node.body}
    return found
