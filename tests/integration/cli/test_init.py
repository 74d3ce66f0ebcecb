"""``toolc init``: its files pass check, build, test and run; existing files do not change."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from cli.cli_engines import engines
from cli.command_line import run

from toolc.cli.commands.init import ci_files, files
from toolc.cli.tool_templates import TOOLS


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


@pytest.mark.needs_engine
@pytest.mark.parametrize(
    ("options", "specs"),
    [
        (["--call", "program"], {"hello.yaml"}),
        (["--call", "python"], {"hello.yaml", "count_lines.yaml", "count_lines.py"}),
        (["--call", "http"], {"hello.yaml", "get_item.yaml"}),
        (["--call", "openapi", "--from", "pets.yaml"], {"hello.yaml", "list_pets.yaml"}),
        (["--call", "definition", "--from", "tools.py"], {"hello.yaml", "add.yaml", "add.py"}),
        (["--call", "definition", "--from", "tools.json"], {"hello.yaml"}),
    ],
)
def test_what_the_first_tool_calls_is_an_example_that_passes_its_tests(
    options: list[str], specs: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pets.yaml").write_text(
        "openapi: 3.1.0\ninfo: {title: Pets}\nservers: [{url: 'https://pets.example'}]\n"
        "paths: {/pets: {get: {operationId: listPets, summary: List the pets of the shop, responses: {200: {}}}}}\n"
    )
    Path("tools.py").write_text(
        "def add(a: int, b: int) -> int:\n    'Add two numbers of an order.'\n    return a + b\n"
    )
    Path("tools.json").write_text('[{"name": "x", "description": "Do it.", "input_schema": {"type": "object"}}]')
    assert run("init", "t", *options) == 0
    monkeypatch.chdir("t")
    assert {path.name for path in Path("specs").iterdir() if path.is_file()} == specs
    assert run("check", "specs") == 0
    assert run("test", "specs") == 0


def test_init_asks_on_a_terminal_what_the_tool_calls(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "toolc", "init", "t"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path
    ) as process:
        os.write(ours, b"http\n")
        assert process.wait(60) == 0
    os.close(theirs)
    printed = os.read(ours, 65536).decode()
    os.close(ours)
    assert "What should the first tool call?\r\n  program     a program of the machine, such as grep\r\n" in printed
    assert "Your choice [python]: " in printed
    assert (tmp_path / "t/specs/get_item.yaml").is_file()


def test_without_its_source_nothing_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for options, message in (
        (["--call", "openapi"], "--call openapi imports existing tools; name their file with --from FILE"),
        (["--from", "pets.yaml"], "--from is only for --call openapi and --call definition"),
        (["--call", "openapi", "--from", "pets.yaml"], "pets.yaml cannot be read: No such file or directory"),
        (["--call", "definition", "--from", "."], "copy the skill into t/specs, then run: toolc import skill"),
    ):
        assert run("init", "t", *options) == 2
        assert message in capsys.readouterr().err
        assert [*tmp_path.iterdir()] == []


def test_init_prints_the_files_and_the_next_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", str(tmp_path / "t")) == 0
    done, tried, why = capsys.readouterr().out.splitlines()
    paths = [*files(), "CODEOWNERS"]
    assert done == f"created {', '.join(paths)} in {tmp_path}/t"
    assert tried == f"try: cd {tmp_path}/t && toolc run specs/hello.yaml --arg name=Ada"
    assert why == (
        "review.accept_from in toolc.yaml lets a pull request accept its own changes; configure the code host to "
        "require a review by the owners in CODEOWNERS, and replace @OWNER there"
    )
    assert {str(path.relative_to(tmp_path / "t")) for path in tmp_path.rglob("*") if path.is_file()} == set(paths)


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
    assert capsys.readouterr().out.splitlines()[1:3] == [
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


def test_a_tool_is_added_to_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", "--tool", "postgres") == 0
    assert capsys.readouterr().out.splitlines() == [
        "created specs/postgres.py, specs/postgres.yaml, toolc.yaml in .",
        "then set the variables under vars in toolc.yaml",
        "write the secret to a file that only you can read (chmod 600), as the line 'PGPASSWORD: VALUE'",
        "then try these commands; the last ones need a server:",
        "  toolc check specs/postgres.yaml",
        "  toolc test specs/postgres.yaml --secrets FILE",
        "  toolc run specs/postgres.yaml#postgres_query --arg 'query=SELECT version()' --secrets FILE",
    ]
    assert run("check", "specs", "--strict") == 0
    assert run("init", "--tool", "postgres") == 2
    assert "toolc: . already has specs/postgres.py, specs/postgres.yaml; choose" in capsys.readouterr().err


@pytest.mark.parametrize("tool", TOOLS)
def test_each_template_passes_the_checks(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", "--tool", tool) == 0
    assert run("check", "specs", "--strict") == 0


def test_an_existing_project_file_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    project = tmp_path / "toolc.toml"
    project.write_text('vars.postgres_host = "db.example.com"\n', encoding="utf-8")
    (tmp_path / "tools").mkdir()
    monkeypatch.chdir(tmp_path / "tools")
    assert run("init", "--tool", "postgres") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "created specs/postgres.py, specs/postgres.yaml in .", f"under vars in {project}, add and set:",
        "  postgres_port: 5432",
    ]  # fmt: skip
    assert project.read_text(encoding="utf-8") == 'vars.postgres_host = "db.example.com"\n'
    assert not (tmp_path / "tools" / "toolc.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "DIR is missing; name the folder to create, or add a tool to this folder with --tool NAME"),
        (("--tool", "postgres", "--ci", "github"), "cannot be combined with --ci, --owner, --call or --from"),
        (("--tool", "oracle"), "'oracle' is not"),
    ],
)
def test_invalid_options_are_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run("init", *arguments) == 2
    assert message in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


OWNED = {".github/**", "CODEOWNERS", "toolc.lock", "toolc.accepted.yaml", "toolc.yaml", "toolc.toml"}


@pytest.mark.parametrize(
    ("arguments", "path", "owned"),
    [
        ((), "CODEOWNERS", OWNED),
        (("--ci", "github"), ".github/CODEOWNERS", OWNED),
        (("--ci", "gitlab"), "CODEOWNERS", OWNED | {".gitlab-ci.yml", ".gitlab/**"}),
    ],
)
def test_files_that_decide_about_reviews_have_owners(
    arguments: tuple[str, ...], path: str, owned: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("init", str(tmp_path / "t"), "--owner", "@ann", "--owner", "@example/tools", *arguments) == 0
    lines = [line for line in (tmp_path / "t" / path).read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert set(lines) == {f"{each} @ann @example/tools" for each in owned}
    assert capsys.readouterr().out.endswith(f"require a review by the owners in {path}\n")
    settings = yaml.safe_load((tmp_path / "t/toolc.yaml").read_text(encoding="utf-8"))
    assert settings == {"review": {"accept_from": "head"}}


@pytest.mark.parametrize("owner", ["ann", "@", "@ann @bob", "#", "@ann\n* @bob"])
def test_an_owner_that_code_hosts_do_not_know_is_refused(
    owner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("init", str(tmp_path / "t"), "--owner", owner) == 2
    assert "is not an owner; write a user (@alice)" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("host", ["github", "gitlab"])
@pytest.mark.parametrize("place", ["CODEOWNERS", "docs/CODEOWNERS"])
def test_existing_owners_are_not_changed(
    host: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    path.write_text("* @all\n/.github/** @sec # us\ntoolc.lock @sec\ntoolc.toml\n", encoding="utf-8")
    assert run("init", str(tmp_path), "--ci", host, "--owner", "@ann") == 0
    assert path.read_text(encoding="utf-8") == "* @all\n/.github/** @sec # us\ntoolc.lock @sec\ntoolc.toml\n"
    assert not (tmp_path / ".github/CODEOWNERS").exists()
    assert not (tmp_path / ".gitlab").exists()
    lines = capsys.readouterr().out.splitlines()
    added = lines[lines.index(f"at the end of {place}, add:") + 1 : -1]
    expected = ["  CODEOWNERS @ann", "  toolc.accepted.yaml @ann", "  toolc.yaml @ann", "  toolc.toml @ann"]
    assert added == expected + (["  .gitlab-ci.yml @ann", "  .gitlab/** @ann"] if host == "gitlab" else [])


def test_owners_that_are_complete_need_no_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", str(tmp_path / "t"), "--owner", "@ann") == 0
    text = (tmp_path / "t/CODEOWNERS").read_text(encoding="utf-8")
    (tmp_path / "u").mkdir()
    (tmp_path / "u/CODEOWNERS").write_text(text, encoding="utf-8")
    capsys.readouterr()
    assert run("init", str(tmp_path / "u")) == 0
    assert "add:" not in capsys.readouterr().out


def test_owners_of_another_host_do_not_count(tmp_path: Path) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/CODEOWNERS").write_text("* @all\n", encoding="utf-8")
    assert run("init", str(tmp_path), "--ci", "gitlab") == 0
    assert (tmp_path / "CODEOWNERS").exists()


@pytest.mark.parametrize("is_there", [True, False])
def test_owners_of_a_repository_around_the_folder_are_printed(
    is_there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    if is_there:
        (tmp_path / "CODEOWNERS").write_text("", encoding="utf-8")
    assert run("init", str(tmp_path / "tools")) == 0
    assert not (tmp_path / "tools/CODEOWNERS").exists()
    assert (tmp_path / "CODEOWNERS").exists() == is_there
    printed = f"at the end of {tmp_path}/CODEOWNERS, add:" if is_there else f"create {tmp_path}/CODEOWNERS with:"
    assert f"{printed}\n  .github/** @OWNER\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("host", "name", "change"),
    [
        ("github", ".github", "in the workflow, pass 'specs: tools/specs' to the action"),
        ("gitlab", ".gitlab-ci.yml", "in .gitlab-ci.yml, set SPECS to tools/specs"),
    ],
)
def test_ci_files_below_the_top_of_a_repository_must_be_copied(
    host: str, name: str, change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    assert run("init", str(tmp_path / "tools"), "--ci", host) == 0
    printed = (
        f"then, in {tmp_path}, where CI reads its files:\n"
        f"  cp -rn tools/{name} tools/.pre-commit-config.yaml .\n"
        f"  {change}; in .pre-commit-config.yaml, replace specs with tools/specs\n"
        "  before the first review: toolc lock tools/specs\n"
    )
    assert printed in capsys.readouterr().out
