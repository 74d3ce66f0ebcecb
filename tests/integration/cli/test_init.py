"""``toolc init``: what it makes checks, builds, tests and runs, and nothing that exists is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from cli_engines import engines

from toolc.cli.commands.init import ci_files, files
from toolc.cli.main import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert isinstance(raised.value.code, int)
    return raised.value.code


@pytest.mark.parametrize("engine", engines())
def test_what_it_makes_works(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", "t") == 0
    monkeypatch.chdir("t")
    assert run("check", "specs", "--strict") == 0
    assert run("build", "specs", "--strict") == 0
    assert run("test", "specs", "--engine", engine) == 0
    capfdbinary.readouterr()
    assert run("run", "specs/hello.yaml", "--arg", "name=Ada", "--engine", engine) == 0
    assert capfdbinary.readouterr() == (b"Hello, Ada!\n", b"")


def test_it_says_what_it_made_and_what_to_try(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", str(tmp_path / "t")) == 0
    made, tried = capsys.readouterr().out.splitlines()
    assert made == f"created {', '.join(files())} in {tmp_path}/t"
    assert tried == f"try: cd {tmp_path}/t && toolc run specs/hello.yaml --arg name=Ada"
    assert {str(path.relative_to(tmp_path / "t")) for path in tmp_path.rglob("*") if path.is_file()} == set(files())


def test_what_it_says_to_try_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", str(tmp_path / "my tools")) == 0
    assert f"try: cd '{tmp_path}/my tools' && " in capsys.readouterr().out


def test_nothing_that_exists_is_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / ".gitignore").symlink_to("nowhere")
    assert run("init", str(tmp_path)) == 2
    assert capsys.readouterr().err == (
        f"toolc: {tmp_path} already has README.md, .gitignore; choose another folder, or move these files\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "README.md"]


def test_a_folder_that_has_other_things_is_added_to(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    assert run("init", str(tmp_path)) == 0


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("x")
    assert run("init", str(tmp_path / "file")) == 2
    assert "cannot be written: Not a directory" in capsys.readouterr().err


def test_what_could_not_be_made_whole_is_not_in_the_way_of_the_next_try(tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("a file in the place of the last files' folder")
    assert run("init", str(tmp_path), "--ci", "github") == 2
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [".github"]
    assert run("init", str(tmp_path)) == 0


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_the_review_of_pull_requests_is_added_where_it_is_asked_for(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", "t", "--ci", host) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "try: cd t && toolc run specs/hello.yaml --arg name=Ada",
        "then, before the first review: toolc lock specs",
    ]
    for path, text in ci_files(host).items():
        assert (tmp_path / "t" / path).read_text(encoding="utf-8") == text
    hooks = yaml.safe_load((tmp_path / "t/.pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    monkeypatch.chdir("t")
    assert run(*hooks[0]["entry"].split()[1:]) == 0
    assert run("lock", "specs") == 0
    assert run(*hooks[1]["entry"].split()[1:]) == 0


def test_without_it_nothing_of_ci_is_made(tmp_path: Path) -> None:
    assert run("init", str(tmp_path)) == 0
    assert not (tmp_path / ".github").exists()
    assert not (tmp_path / ".pre-commit-config.yaml").exists()
