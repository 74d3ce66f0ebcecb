"""The bundle of guest modules."""

import ast
import marshal
import sys
from importlib.util import MAGIC_NUMBER
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


def parts() -> tuple[bytes, bytes]:
    assert LENGTH.unpack(bundle()[:4]) == (len(bundle()) - 4,)
    (size,) = LENGTH.unpack(bundle()[4:8])
    return bundle()[8 : 8 + size], bundle()[8 + size :]


def test_the_bundle_is_a_program_and_the_modules_with_their_code() -> None:
    program, data = parts()
    ast.parse(program)
    magic, modules = marshal.loads(data)
    assert magic == MAGIC_NUMBER
    source, code = modules["toolc.guest.frames"]
    assert source == (FOLDER / "frames.py").read_text(encoding="utf-8")
    assert marshal.loads(code).co_filename == "<toolc.guest.frames>"
    assert {name.rpartition(".")[2] for name, (_, code) in modules.items() if not code} == {
        "toolc", "forks", "guest", "http", "network", "programs",
    }  # fmt: skip


def test_the_bundle_does_not_contain_paths_of_this_machine() -> None:
    assert str(FOLDER).encode() not in bundle()


def test_the_guest_imports_only_the_standard_library_and_itself() -> None:
    sent = {"shaping.py": {"jinja2", "jmespath"}}
    for path in FOLDER.rglob("*.py"):
        allowed = sys.stdlib_module_names | sent.get(path.name, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.startswith("toolc.guest") or name.partition(".")[0] in allowed
