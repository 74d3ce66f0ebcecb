"""``toolc run`` of a tool with a transaction: prompts and output."""

from pathlib import Path

import pytest
from cli.terminal import run_on_terminal
from click.testing import CliRunner
from workspaces.transaction_cases import DONE, doing

from toolc.cli.commands.run import command
from toolc.sandbox import selection

SPEC = """
toolc: 1
name: edit
description: Change two files of the workspace.
parameters: {}
backend: {shell: {script: "true"}}
sandbox: {workspace: {mode: transaction, commit: COMMIT}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "old").write_text("old")

    def act(view: Path) -> None:
        (view / "new\n\x1b[31m").write_text("12345")
        (view / "old").unlink()

    engine = doing(act, DONE)
    monkeypatch.setattr(selection, "select", lambda *_: selection.EngineSelection(engine))
    monkeypatch.setattr("toolc.client.executor.select", lambda *_: selection.EngineSelection(engine))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder: Path, commit: str, *options: str) -> tuple[int, str, str]:
    (folder / "edit.yaml").write_text(SPEC.replace("COMMIT", commit))
    result = CliRunner().invoke(command, ["edit.yaml", "--workspace", "work", *options])
    return result.exit_code, result.stdout, result.stderr


LISTED = "  + new\\n\\x1b[31m (5 bytes)\n  - old\n"


def test_changes_that_were_made_are_listed_on_stderr(folder: Path) -> None:
    assert run(folder, "success") == (0, "done\n", f"{LISTED}toolc: committed these 2 changes to the workspace\n")


def test_discarded_changes(folder: Path) -> None:
    expected = f"{LISTED}toolc: the workspace is unchanged: the spec says commit: never\n"
    assert run(folder, "never") == (0, "done\n", expected)
    assert (folder / "work" / "old").exists()


def test_without_a_terminal_changes_are_discarded(folder: Path) -> None:
    code, _, expected = run(folder, "ask")
    assert code == 1
    assert expected.endswith(
        f"{LISTED}toolc: discarded these 2 changes; the workspace is unchanged\n"
        "toolc: run the command on a terminal to confirm, or add --yes to allow the changes\n"
    )
    assert (folder / "work" / "old").exists()


def test_yes_skips_the_prompt(folder: Path) -> None:
    assert run(folder, "ask", "--yes")[0] == 0
    assert not (folder / "work" / "old").exists()


def test_json_has_the_changes(folder: Path) -> None:
    code, out, expected = run(folder, "success", "--json")
    assert (code, expected) == (0, "")
    assert '"committed": true' in out


ENGINE = """
from workspaces.transaction_cases import DONE, doing
engine = doing(lambda view: (view / "old").unlink(), DONE)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "committed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_prompt_on_a_terminal(folder: Path, answer: str, committed: bool) -> None:
    (folder / "edit.yaml").write_text(SPEC.replace("COMMIT", "ask"))
    status, printed = run_on_terminal(["edit.yaml", "--workspace", "work"], ENGINE, [answer])
    assert status == (0 if committed else 1), printed
    assert f"  - old\r\ntoolc: edit would make this change in {folder}/work. Continue? [y/N]: " in printed
    assert printed.count("  - old") == 1
    assert (folder / "work" / "old").exists() is not committed
