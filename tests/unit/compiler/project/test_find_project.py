"""Find the project file of each spec."""

from pathlib import Path

import pytest
from compiling.project_cases import TOOL, lines, write

from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.discovery import Projects
from toolc.compiler.project.project import NO_PROJECT
from toolc.model.diagnostics import Diagnostics


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def folder_of(path: str) -> Path | None:
    """Return the folder of the project of a file, relative to the current folder."""
    project = Projects(Diagnostics()).of(Path(path))
    return None if project is NO_PROJECT else project.folder.relative_to(Path.cwd())


def test_the_nearest_project_file_applies() -> None:
    write(toolc="out: a\n", repo__toolc="out: b\n", repo__specs__deep__a=TOOL, b=TOOL)
    assert folder_of("repo/specs/deep/a.yaml") == Path("repo")
    assert folder_of("repo/specs/deep") == Path("repo")
    assert folder_of("b.yaml") == Path()


def test_the_search_ends_at_the_root_of_the_repository() -> None:
    write(toolc="out: a\n", repo__specs__a=TOOL)
    Path("repo/.git").mkdir()
    assert folder_of("repo/specs/a.yaml") is None
    write(repo__toolc="out: b\n")
    assert folder_of("repo/specs/a.yaml") == Path("repo")


def test_project_file_in_a_shared_folder_is_ignored() -> None:
    write(shared__toolc="out: a\n", shared__mine__a=TOOL)
    Path("shared").chmod(0o1777)
    Path(".git").mkdir()
    assert folder_of("shared/mine/a.yaml") is None
    assert lines(compile_specs([Path("shared/mine")])) == [
        (
            "shared/toolc.yaml:1:1 warning TC104 shared/toolc.yaml has no effect: "
            "it is in a folder that every user may write to"
        )
    ]
    for mode in (0o755, 0o777):  # 777 is every folder of a Windows drive in WSL
        Path("shared").chmod(mode)
        assert folder_of("shared/mine/a.yaml") == Path("shared")


def test_symlinked_project_file_is_ignored() -> None:
    write(other="out: a\n", specs__a=TOOL)
    Path(".git").mkdir()
    Path("specs/toolc.yaml").symlink_to("../other.yaml")
    assert folder_of("specs/a.yaml") is None
    assert lines(compile_specs([Path("specs")])) == [
        "specs/toolc.yaml:1:1 warning TC104 specs/toolc.yaml has no effect: it is a link"
    ]


def test_each_spec_has_the_settings_of_its_own_project() -> None:
    short = TOOL.replace("Say hello to the whole world.", "Say hello.")
    write(one__toolc="lint: {ignore: [TC204]}\n", one__a=short, two__a=short.replace("name: hello", "name: bye"))
    assert lines(compile_specs([Path()])) == [
        "two/a.yaml:3:14 warning TC204 a description of 10 characters is too short for a model"
    ]


def test_of_two_project_files_in_a_folder_one_has_no_effect() -> None:
    write(toolc="lint: {}\n", a=TOOL)
    Path("toolc.toml").write_text('out = "x"\n', encoding="utf-8")
    compilation = compile_specs([Path("a.yaml")])
    assert lines(compilation) == [
        "toolc.toml:1:1 warning TC104 toolc.toml has no effect: toolc.yaml next to it is the project file"
    ]
    assert compilation.out is None


def test_a_project_file_can_be_toml() -> None:
    Path("toolc.toml").write_text('out = "made"\n[lint.severity]\nTC204 = "off"\n', encoding="utf-8")
    write(a=TOOL.replace("Say hello to the whole world.", "Say hello."))
    compilation = compile_specs([Path("a.yaml")])
    assert lines(compilation) == []
    assert compilation.out == Path.cwd() / "made"
