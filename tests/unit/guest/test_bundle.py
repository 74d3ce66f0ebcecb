"""The bundle of guest modules."""

import ast
import sys
from pathlib import Path

import toolc.guest
from toolc.guest.bundle import MODULES, bundle
from toolc.guest.frames import LENGTH

FOLDER = Path(toolc.guest.__file__).parent


def test_every_module_of_the_guest_is_in_the_bundle() -> None:
    assert {
        ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        for path in FOLDER.rglob("*.py")
        if path.name != "__init__.py"
    } == {*MODULES, "bundle", "loader"}


def test_the_bundle_is_a_program_after_its_length() -> None:
    (size,) = LENGTH.unpack(bundle()[:4])
    program = bundle()[4:]
    assert len(program) == size
    ast.parse(program)


def test_the_guest_imports_only_the_standard_library_and_itself() -> None:
    sent = {"shaping.py": {"jinja2", "jmespath"}}
    for path in FOLDER.rglob("*.py"):
        allowed = sys.stdlib_module_names | sent.get(path.name, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.startswith("toolc.guest") or name.partition(".")[0] in allowed
