"""``toolc init``: its files pass check, build, test and run; existing files do not change."""

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
def test_tools_of_a_created_folder_pass_all_commands(
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


def test_init_prints_the_files_and_the_next_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", str(tmp_path / "t")) == 0
    done, tried = capsys.readouterr().out.splitlines()
    assert done == f"created {', '.join(files())} in {tmp_path}/t"
    assert tried == f"try: cd {tmp_path}/t && toolc run specs/hello.yaml --arg name=Ada"
    assert {str(path.relative_to(tmp_path / "t")) for path in tmp_path.rglob("*") if path.is_file()} == set(files())


def test_printed_command_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", str(tmp_path / "my tools")) == 0
    assert f"try: cd '{tmp_path}/my tools' && " in capsys.readouterr().out


def test_existing_files_are_not_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / ".gitignore").symlink_to("nowhere")
    assert run("init", str(tmp_path)) == 2
    assert capsys.readouterr().err == (
        f"toolc: {tmp_path} already has README.md, .gitignore; choose another folder, or move these files\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "README.md"]


def test_init_accepts_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    assert run("init", str(tmp_path)) == 0


def test_folder_that_cannot_be_created(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("x")
    assert run("init", str(tmp_path / "file")) == 2
    assert "cannot be written: Not a directory" in capsys.readouterr().err


def test_partial_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("a file in the place of the last files' folder")
    assert run("init", str(tmp_path), "--ci", "github") == 2
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [".github"]
    assert run("init", str(tmp_path)) == 0


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_ci_option_adds_reviews(
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


def test_ci_files_are_not_created_by_default(tmp_path: Path) -> None:
    assert run("init", str(tmp_path)) == 0
    assert not (tmp_path / ".github").exists()
    assert not (tmp_path / ".pre-commit-config.yaml").exists()
