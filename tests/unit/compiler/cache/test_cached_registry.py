"""The registry of unchanged specs is stored, and is the one that the compiler would return."""

import json
from pathlib import Path

import pytest

from toolc.compiler.cache.cached_registry import SpecRegistry, registry_of_specs
from toolc.compiler.cache.file import load, save
from toolc.compiler.pipeline import processes

SPEC = """\
toolc: 1
name: shout
description: Print a text in capitals. Use it for headings. Do not use it for whole files of text.
parameters: {text: {type: string, description: "The text, e.g. 'news'"}}
backend: {python: {file: shout.py, function: shout}}
"""
CODE = "def shout(text):\n    return text.upper()\n"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec whose registry is stored."""
    (tmp_path / "shout.py").write_text(CODE, encoding="utf-8")
    path = tmp_path / "shout.yaml"
    path.write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    registry(path)
    return path


def registry(path: Path) -> SpecRegistry:
    return registry_of_specs([path])


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The paths that are compiled from now on."""
    calls: list[object] = []
    compile_many = processes.compile_many

    def record(*args: object, **options: object) -> object:
        calls.append(args)
        return compile_many(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(processes, "compile_many", record)
    return calls


def test_the_lifetimes_of_policies_are_stored(spec: Path, compiled: list[object]) -> None:
    (spec.parent / "toolc.yaml").write_text("policy: {lifetime: [call]}\n", encoding="utf-8")
    allowed = [
        [(Path(each.path).name, each.lifetime) for each in tool.policies]
        for found in (registry(spec), registry(spec))
        for tool in (found.file.tools if found.file else ())
    ]
    assert allowed == [[("toolc.yaml", ("call",))]] * 2
    assert len(compiled) == 1


def test_an_unchanged_spec_is_not_compiled_again(spec: Path, compiled: list[object]) -> None:
    stored = registry(spec)
    assert compiled == []
    for entry in (spec.parent / "cache").rglob("check-*"):
        entry.unlink()
    assert registry(spec).file == stored.file
    assert len(compiled) == 1
    assert stored.local == ("shout",)


@pytest.mark.parametrize("name", ["shout.yaml", "shout.py", "toolc.yaml"])
def test_a_changed_file_is_compiled(spec: Path, compiled: list[object], name: str) -> None:
    changed = spec.parent / name
    before = changed.read_text(encoding="utf-8") if changed.exists() else ""
    changed.write_text(f"{before}\n# changed\n" if before else "vars: {}\n", encoding="utf-8")
    registry(spec)
    assert len(compiled) == 1


def test_a_spec_with_errors_is_not_stored(spec: Path, compiled: list[object]) -> None:
    spec.write_text(SPEC.replace("name: shout", "nmae: shout"), encoding="utf-8")
    for _ in range(2):
        found = registry(spec)
        assert found.file is None
        assert found.diagnostics.has_errors
    assert len(compiled) == 2


def test_a_stored_registry_that_does_not_match_its_digests_is_not_used(spec: Path, compiled: list[object]) -> None:
    (entry,) = (spec.parent / "cache").rglob("check-*")
    answer = load(entry)
    text = json.dumps(answer).replace("text.upper()", "text.lower()")
    assert text != json.dumps(answer)
    save(entry, json.loads(text))
    found = registry(spec)
    assert len(compiled) == 1
    assert found.file is not None
    assert "text.upper()" in str(found.file.tools[0].spec.backend)
