"""Compilation of paths: tools, findings of all files, and the same bytes on every machine."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compiling.compiled import ECHO, HEAD, compile_text, found_in
from hypothesis import given, settings
from hypothesis import strategies as st
from project.paths import ROOT, TEST_SPECS

from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.pipeline.parallel_build import compile_and_render
from toolc.compiler.project.limits import MIN_TIMEOUT_MS
from toolc.compiler.project.settings import NO_SETTINGS
from toolc.model.errors import SpecError, UsageError
from toolc.model.json_schema import JsonValue
from toolc.model.registry import registry_from_json
from toolc.model.registry_io import canonical, parse

POSITIVE = TEST_SPECS / "positive"


def test_tools_are_sorted_and_have_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    for file, name in (("x", "b"), ("y", "a"), ("z", "C")):
        text = HEAD.replace("hello", name, 1) + ECHO
        (tmp_path / "specs" / f"{file}.yaml").write_text(text, encoding="utf-8")
    compilation = compile_specs([Path("specs")])
    assert [tool.name for tool in compilation.tools] == ["C", "a", "b"]
    assert compilation.paths == {"C": "specs/z.yaml", "a": "specs/y.yaml", "b": "specs/x.yaml"}
    assert [tool.spec for tool in compilation.registry().tools] == list(compilation.tools)


def test_findings_of_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text("toolc: 1\nname: [\n", encoding="utf-8")
    Path("b.yaml").write_text(HEAD + "extra: 1\n" + ECHO, encoding="utf-8")
    Path("c.yaml").write_text(HEAD + ECHO.replace("hello", "'{{ x }}'"), encoding="utf-8")
    compilation = compile_specs([Path()])
    assert [(found.span.path, found.code.number) for found in compilation.diagnostics.sorted()] == [
        ("a.yaml", "TC001"),
        ("b.yaml", "TC101"),
        ("c.yaml", "TC203"),
        ("c.yaml", "TC406"),
    ]
    with pytest.raises(SpecError) as error:
        compilation.registry()
    assert str(error.value).splitlines()[0] == "4 errors in the specs:"
    assert str(error.value).splitlines()[2] == "b.yaml:4:1: TC101 the tool has no key 'extra'"
    assert error.value.diagnostics == compilation.diagnostics.sorted()


def test_path_without_specs_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.yaml").write_text("a: 1\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no such file or folder"):
        compile_specs([tmp_path / "missing"])
    for path in (tmp_path / "empty", tmp_path):
        with pytest.raises(UsageError, match="no specs found"):
            compile_specs([path])


def test_other_yaml_file_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("a: 1\n", encoding="utf-8")
    compilation = compile_text(tmp_path, HEAD + ECHO)
    with_other = compile_specs([tmp_path])
    assert compilation.diagnostics.sorted() == ()
    (found,) = with_other.diagnostics.sorted()
    assert (found.code.number, found.is_error) == ("TC113", False)
    assert with_other.registry().get("hello")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tool.yaml", "name: hello\ndescription: Say hello.\nbackend: {shell: {argv: [echo, hello]}}\n"),
        ("tool.yaml", "toolC: 1\nname: hello\ndescription: Say hello.\nparameters: {}\n"),
        ("tool.yaml", "tools: [{name: hello, backend: {python: {file: hello.py}}}]\n"),
        ("tool.yaml", "name: hello\nname: bye\nbackend: {shell: {argv: [echo, hello]}}\n"),
        ("tool.toml", 'name = "hello"\n[backend.shell]\nargv = ["echo", "hello"]\n'),
    ],
)
def test_file_that_declares_a_tool_without_the_key_toolc_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")

    found = [each for each in compile_specs([tmp_path]).diagnostics.sorted() if each.code.number == "TC102"]

    assert [(each.message, each.hint) for each in found if "toolc" in each.message] == [
        ("the spec has no 'toolc'", "a spec starts with 'toolc: 1'")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "name: CI\non: push\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: make}]}}\n",
        "name: Set up\ndescription: Set up a tool.\ninputs: {version: {default: '1'}}\nruns: {using: node20}\n",
        "apiVersion: v2\nname: chart\ndescription: A chart.\nversion: 1.0.0\n",
        "openapi: 3.1.0\ninfo: {title: Pets, version: 1.0.0}\npaths: {}\n",
        "services: {web: {image: nginx, command: [nginx]}}\n",
        "tools: [{name: x, description: y, inputSchema: {type: object}}]\n",
        "terraform: {backend: {s3: {bucket: b}}}\nbackend: s3\n",
    ],
)
def test_configuration_of_another_program_is_not_a_spec(tmp_path: Path, text: str) -> None:
    compile_text(tmp_path, HEAD + ECHO)
    (tmp_path / "other.yaml").write_text(text, encoding="utf-8")

    assert [each.code.number for each in compile_specs([tmp_path]).diagnostics.sorted()] == ["TC113"]


def test_duplicate_key_does_not_hide_other_findings(tmp_path: Path) -> None:
    text = "toolc: 1\nname: hello\nname: bye\ndescription: Say hello to all.\nparameters: {who: {type: strng}}\n"

    assert found_in(tmp_path, f"{text}{ECHO}") == [
        "3:1 TC002 the key 'name' is already on line 2",
        "5:26 TC704 'strng' is not a type of JSON Schema",
    ]


def test_named_file_must_be_a_spec(tmp_path: Path) -> None:
    (found,) = compile_text(tmp_path, "name: hello\n").diagnostics.sorted()
    assert (found.code.number, found.message) == ("TC102", "the spec has no 'toolc'")


def test_registry_round_trip() -> None:
    registry = compile_specs([POSITIVE]).registry()
    stored = canonical(registry.to_json())
    assert registry_from_json(parse(stored)) == registry


COMPILE = """
import sys
from pathlib import Path
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.limits import MIN_TIMEOUT_MS
from toolc.model.registry_io import canonical
from toolc.reporters.text import render
compilation = compile_specs([Path(path) for path in sys.argv[1:]])
found = render(compilation.diagnostics, color=False)
registry = b"" if compilation.diagnostics.has_errors else canonical(compilation.registry().to_json())
sys.stdout.buffer.write(found.encode() + registry)
"""


def compiled_in_new_process(folder: Path, *arguments: str, **environment: str) -> bytes:
    """Return the findings and registry of a compilation in a new process, started in ``folder``."""
    root = str(ROOT)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, *arguments], cwd=folder, env=env, check=True, capture_output=True
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["positive", "negative"])
def test_output_is_reproducible(tmp_path: Path, kind: str) -> None:
    """The hash seed, locale, folder, order of files and environment have no effect."""
    files = sorted(path for path in POSITIVE.with_name(kind).rglob("*") if path.is_file() and path.suffix != ".txt")
    for name, order in (("one", files), ("two", files[::-1])):
        for path in order:
            copy = tmp_path / name / "specs" / path.relative_to(POSITIVE.with_name(kind))
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    first = compiled_in_new_process(tmp_path / "one", "specs", PYTHONHASHSEED="0", LC_ALL="C")
    second = compiled_in_new_process(
        tmp_path / "two", "specs", PYTHONHASHSEED="4711", LC_ALL="C.UTF-8", TZ="Asia/Tokyo", HOME="/nowhere"
    )
    assert len(first) > 1000
    assert first == second


_KEYS = st.sampled_from(
    [
        "toolc", "name", "description", "tags", "aliases", "parameters", "type", "properties", "required",
        "default", "optional", "items", "enum", "pattern", "$ref", "$defs", "allOf", "backend", "shell", "python",
        "argv", "when", "script", "file", "code", "function", "files", "stdin", "errors", "interpreter",
        "success_exit_codes", "sandbox", "limits", "timeout", "memory", "tmp", "workspace", "mode", "env", "result",
        "format", "examples", "tests", "args", "expect", "json", "tools", "defaults", "a", "b",
    ]
)  # fmt: skip
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 300),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ["hello", "object", "string", "array", "{{ a }}", "{{ b.a | upper }}", "{{", "30s", "64MiB", "any", "#/$defs/a"]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=5),
)
_TREES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5), max_leaves=20
)
_TOOL = st.fixed_dictionaries(
    {"toolc": st.just(1), "name": st.just("hello")},
    optional={
        "parameters": _TREES | st.dictionaries(_KEYS, st.dictionaries(_KEYS, _TREES, max_size=4), max_size=3),
        "backend": _TREES | st.fixed_dictionaries({"shell": st.dictionaries(_KEYS, _TREES, max_size=5)}),
        "sandbox": _TREES,
        "result": _TREES,
        "examples": _TREES,
        "tests": _TREES,
        "tools": _TREES,
        "defaults": _TREES,
        "aliases": _TREES,
    },
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(_TOOL)
def test_any_tree_compiles_or_has_an_error(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, JsonValue]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "trees"
    compilation = compile_text(folder, json.dumps(tree))
    if not compilation.diagnostics.has_errors:
        assert registry_from_json(compilation.registry().to_json()) == compilation.registry()


# No marks and fillers, because TC210 reports invisible characters.
_VISIBLE = st.characters(
    codec="utf-8", exclude_categories=("C", "M", "Z"), exclude_characters="\u115f\u1160\u3164\uffa0"
)
_WORDS = st.text(_VISIBLE, min_size=1, max_size=8).filter(lambda text: "{{" not in text)
_GOOD = st.fixed_dictionaries(
    {
        "toolc": st.just(1),
        "name": st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", fullmatch=True),
        "description": _WORDS,
        "backend": st.fixed_dictionaries(
            {"shell": st.fixed_dictionaries({"argv": st.lists(_WORDS, min_size=1)}, optional={"stdin": _WORDS})}
        ),
    },
    optional={
        "label": _WORDS,
        "tags": st.lists(_WORDS),
        "sandbox": st.fixed_dictionaries(
            {},
            optional={
                "env": st.dictionaries(st.from_regex(r"[B-Z]{1,3}", fullmatch=True), _WORDS),
                "limits": st.fixed_dictionaries({"timeout": st.integers(MIN_TIMEOUT_MS, 10**6).map("{}ms".format)}),
            },
        ),
        "tests": st.lists(st.fixed_dictionaries({}, optional={"expect": st.fixed_dictionaries({"json": _TREES})})),
    },
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(_GOOD)
def test_valid_tree_compiles(tmp_path_factory: pytest.TempPathFactory, tree: dict[str, JsonValue]) -> None:
    folder = tmp_path_factory.getbasetemp() / "trees"
    compilation = compile_text(folder, json.dumps(tree, ensure_ascii=False))
    assert [found for found in compilation.diagnostics.sorted() if found.is_error] == []
    registry = compilation.registry()
    assert registry_from_json(parse(canonical(registry.to_json()))) == registry


def test_invalid_value_is_not_reported_as_ambiguous_too(tmp_path: Path) -> None:
    text = "toolc: 1\nname: hello\ndescription: Say hello to the whole world.\nlabel: on\n"
    found = found_in(tmp_path, text + "annotations: {read_only: yes}\nbackend: {shell: {argv: [echo, hello]}}\n")
    assert found == [
        '4:8 TC003 on is the text "on" in YAML 1.2, but true in YAML 1.1',
        "5:26 TC108 'read_only' must be true or false, but is the text 'yes'",
    ]


@pytest.mark.parametrize(
    "function", ["toolc.compiler.decode.shell.decode_shell", "toolc.compiler.build_output.register"]
)
def test_a_bug_names_its_file_and_hides_no_finding_of_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def fail(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(function, fail)
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    for name, backend in (("bug", ECHO), ("other", "backend: {python: {code: ''}}\n")):
        Path("specs", f"{name}.yaml").write_text(f"{HEAD}{backend}".replace("hello", name), encoding="utf-8")

    compilation, rendered = compile_and_render([Path("specs")], NO_SETTINGS, {})

    assert rendered == []
    found = {(str(each.span), each.code.number) for each in compilation.diagnostics.sorted()}
    assert {(path.split(":")[0], number) for path, number in found} == {
        ("specs/bug.yaml", "TC015"), ("specs/other.yaml", "TC108"),
    }  # fmt: skip
