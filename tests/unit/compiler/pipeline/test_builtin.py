"""``builtin`` in a project file: built-in tools are compiled too, and composites can call them."""

import shutil
from pathlib import Path

import pytest
from cli.command_line import run

from toolc import Registry, build
from toolc.compiler.cache import answers
from toolc.compiler.pipeline import builtin_tools
from toolc.compiler.pipeline.compile import Compilation, compile_specs
from toolc.compiler.project import tool_names
from toolc.compiler.project.tool_names import builtin_names
from toolc.data.paths import packaged_path

CALLER = """\
toolc: 1
name: double
description: Double a number by means of the calculator, and give the result back.
parameters: {n: {type: integer, minimum: 0, maximum: 100, description: The number}}
backend:
  composite:
    strategy: sequential
    steps: [{id: sum, tool: calculator, args: {expression: "2 * {{ n }}"}}]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "double.yaml").write_text(CALLER, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def write_project(text: str) -> None:
    Path("toolc.yaml").write_text(text, encoding="utf-8")


def compiled() -> Compilation:
    return compile_specs([Path("specs")])


def found() -> list[str]:
    return [f"{each.span} {each.code.number} {each.message}; {each.hint}" for each in compiled().diagnostics.sorted()]


def test_builtin_tools_have_the_documented_names() -> None:
    assert builtin_names() == Registry.builtin().names


def test_step_calls_a_builtin_tool(project: Path) -> None:
    write_project("builtin: [calculator]\n")
    assert found() == []
    registry = Registry.load("specs")
    assert registry.names == ("calculator", "double")
    assert registry.registered("calculator") == Registry.builtin().registered("calculator")


def test_build_and_toolsets_include_builtin_tools(project: Path) -> None:
    write_project("builtin: [calculator, file_read]\ntoolsets: {sums: [double], reads: [file_read]}\n")
    build("specs", "build")
    registry = Registry.load("build/registry.json")
    assert registry.names == ("calculator", "double", "file_read")
    assert registry.toolset("sums").names == ("double",)
    assert registry.toolset("reads").names == ("file_read",)


def test_unknown_builtin_tools_have_a_hint(project: Path) -> None:
    assert found() == [
        (
            "specs/double.yaml:8:29 TC105 there is no tool 'calculator'; "
            "this is a built-in tool; add builtin: [calculator] to toolc.yaml"
        )
    ]


def test_project_settings_do_not_change_builtin_tools(project: Path) -> None:
    write_project("builtin: [calculator]\ndefaults: {sandbox: {limits: {timeout: 77s}}, confirm: true}\nvars: {a: b}\n")
    tools = {tool.name: tool for tool in compiled().tools}
    assert tools["double"].sandbox.limits.timeout_ms == 77_000
    assert tools["calculator"] == Registry.builtin().get("calculator")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("listed", "finding"),
    [
        ("[calculater]", "1:11 TC105 there is no built-in tool 'calculater'; did you mean 'calculator'?"),
        ("[bash, bash]", "1:17 TC108 this list already contains 'bash' on line 1; remove one of the two"),
        ("bash", "1:10 TC108 'builtin' must be a list, but is the text 'bash'; write a list: [bash]"),
    ],
)
def test_invalid_list(project: Path, listed: str, finding: str) -> None:
    write_project(f"builtin: {listed}\n")
    assert f"toolc.yaml:{finding}" in found()


def test_name_of_a_project_tool_is_an_error(project: Path) -> None:
    write_project("builtin: [calculator]\n")
    other = CALLER.replace("name: double", "name: treble\naliases: [calculator]").replace("tool: calc", "tool: calc")
    Path("specs/other.yaml").write_text(other.replace("{id: sum, tool: calculator", "{id: sum, tool: double"))
    assert any(
        each.startswith("toolc.yaml:1:11 TC203 a tool of this project already has the name or alias 'calculator'")
        for each in found()
    )


def test_description_is_not_compared_with_others(project: Path) -> None:
    write_project("builtin: [calculator]\n")
    mine = Registry.builtin().registered("calculator").spec
    Path("specs/sums.yaml").write_text(
        f"toolc: 1\nname: calculators\ndescription: {mine.description!r}\nbackend: {{shell: {{argv: [bc]}}}}\n"
    )
    assert [each for each in found() if "TC20" in each] == []


def built() -> dict[str, bytes]:
    if run("build", "specs"):
        return {}
    return {str(path.relative_to("build")): path.read_bytes() for path in Path("build").rglob("*") if path.is_file()}


EDITS = (
    ("specs/plain.yaml", "name: plain", "name: calculator"), ("specs/plain.yaml", "name: plain", "name: file_read"),
    ("specs/plain.yaml", "name: plain", "name: plain\naliases: [file_read]"), ("specs/plain.yaml", "Print", "Show"),
    ("specs/double.yaml", "2 *", "3 *"), ("toolc.yaml", "file_read", "bash"),
    ("toolc.yaml", "builtin: [calculator, file_read]", "{}"),
)  # fmt: skip
PLAIN = """\
toolc: 1
name: plain
description: Print the name of the current day.
backend: {shell: {argv: [date]}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS, ids=range(len(EDITS)))
def test_cached_build_equals_a_new_one(
    project: Path, edit: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project("builtin: [calculator, file_read]\n")
    Path("specs/plain.yaml").write_text(PLAIN, encoding="utf-8")
    assert "registry.json" in built()
    path, before, after = edit
    place = Path(path)
    place.write_text(place.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    warm = built()
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "other"))
    assert built() == warm


def test_changed_builtin_tool_is_built_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = project / "ours" / "specs"
    shutil.copytree(packaged_path("specs"), ours, ignore=shutil.ignore_patterns("plugins"))
    monkeypatch.setattr(answers, "packaged_path", lambda _: ours)
    monkeypatch.setattr(builtin_tools, "packaged_path", lambda _: ours)
    monkeypatch.setattr(tool_names, "packaged_path", lambda _: ours)
    write_project("builtin: [calculator]\n")
    before = built()
    spec = ours / "calculator.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("label: Calc", "label: Other calc"), encoding="utf-8")
    after = built()
    assert b"Calculator" in before["registry.json"]
    assert b"Other calculator" in after["registry.json"]


def test_paths_do_not_depend_on_the_machine(project: Path) -> None:
    write_project("builtin: [calculator]\n")
    paths = {tool.spec.name: tool.path for tool in compiled().located}
    assert paths == {"calculator": "toolc:specs/calculator.yaml", "double": "specs/double.yaml"}


def test_tests_of_builtin_tools_are_not_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project("builtin: [calculator]\n")
    assert run("test", "specs") == 2
    assert "none of the 1 tools has tests; add the key 'tests' to a spec" in capsys.readouterr().err
    run("test", "specs#calculator", "--update")
    assert "--update changes specs and cannot change a registry" in capsys.readouterr().err


@pytest.mark.parametrize("option", [(), ("--effective",)])
def test_file_of_one_tool_needs_no_name(
    project: Path, option: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    write_project("builtin: [calculator]\n")
    for target, heading in (("double.yaml", "double"), ("double.yaml#calculator", "calculator")):
        assert run("show", f"specs/{target}", *option) == 0
        assert heading in capsys.readouterr().out.splitlines()[0]
