"""Find spec files, and their paths in findings."""

import os
from pathlib import Path

import pytest

from toolc.compiler.project.discovery import SpecFile, find
from toolc.model.errors import UsageError


def make(folder: Path, *names: str, text: str = "toolc: 1\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def paths_found(*paths: Path) -> list[str]:
    return [each.display_path for each in find(paths)]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_folder_contains_sorted_yaml_and_toml_files() -> None:
    make(Path("specs"), "b.yaml", "a.yml", "sub/z.toml", "C.YAML", "README.md", "data.json", "noext")
    assert paths_found(Path("specs")) == ["specs/C.YAML", "specs/a.yml", "specs/b.yaml", "specs/sub/z.toml"]


def test_paths_in_the_current_folder_have_no_prefix() -> None:
    make(Path(), "a.yaml", "sub/b.yaml")
    assert paths_found(Path()) == ["a.yaml", "sub/b.yaml"]


def test_each_file_has_the_path_that_found_it(tmp_path: Path) -> None:
    make(Path("specs"), "a.yaml", "sub/b.yaml")
    assert find([Path("specs/sub"), Path("specs/a.yaml"), tmp_path / "specs" / "a.yaml"]) == (
        SpecFile(path=tmp_path / "specs" / "a.yaml", display_path=f"{tmp_path.as_posix()}/specs/a.yaml", folder=None),
        SpecFile(path=Path("specs/sub/b.yaml"), display_path="specs/sub/b.yaml", folder=Path("specs/sub")),
    )


def test_hidden_generated_and_linked_files_and_accepted_changes_are_skipped() -> None:
    make(Path("specs"), "a.yaml", "toolc.accepted.yaml", ".hidden.yaml", ".git/b.yaml", "__pycache__/c.yaml")
    make(Path("elsewhere"), "d.yaml")
    Path("specs/link.yaml").symlink_to("a.yaml")
    Path("specs/linked").symlink_to(Path("elsewhere").resolve())
    os.mkfifo("specs/pipe.yaml")
    assert paths_found(Path("specs")) == ["specs/a.yaml"]


def test_named_pipes_and_devices_are_rejected() -> None:
    os.mkfifo("pipe.yaml")
    Path("link.yaml").symlink_to("/dev/null")
    for name in ("pipe.yaml", "link.yaml"):
        with pytest.raises(UsageError, match=f"^{name}: neither a file nor a folder; write the spec to a file"):
            find([Path(name)])


def test_a_named_file_is_used_whatever_its_name() -> None:
    make(Path(), "tool.txt", ".hidden", "toolc.yaml")
    assert paths_found(Path("tool.txt"), Path(".hidden"), Path("toolc.yaml")) == [".hidden", "tool.txt", "toolc.yaml"]


def test_a_file_found_twice_is_listed_once() -> None:
    make(Path("specs"), "a.yaml", "sub/b.yaml")
    paths = [Path("specs"), Path("specs/sub"), Path("./specs/a.yaml")]
    assert paths_found(*paths) == paths_found(*reversed(paths)) == ["specs/a.yaml", "specs/sub/b.yaml"]
    assert [each.folder for each in find(paths)] == [None, Path("specs")]


def test_a_folder_without_specs_is_empty() -> None:
    Path("empty").mkdir()
    assert paths_found(Path("empty")) == []


def test_a_missing_path_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"^nowhere: no such file or folder; name a spec file or a folder of specs$"):
        find([Path("nowhere")])


def test_project_files_are_not_specs() -> None:
    make(Path("specs"), "a.yaml", "toolc.yaml", "sub/toolc.toml")
    assert paths_found(Path("specs")) == ["specs/a.yaml"]
