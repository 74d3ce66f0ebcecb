"""``toolc audit``: verify and show the log of a user."""

import json
from pathlib import Path

import pytest
from calls.fake_tools import registry, text, tool
from cli.command_line import toolc

from toolc import Executor
from toolc.config.user_config import load_configuration
from toolc.model.plan import Plan
from toolc.model.result import Capture, Outcome
from toolc.testing.fake_engine import FakeEngine


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "toolc").mkdir(mode=0o700)
    (tmp_path / "toolc/config.yaml").write_text("audit: {arguments: shape}\n")


def answer(_: Plan) -> Outcome:
    data = json.dumps(text("done")).encode()
    return Outcome(ending="exited", reply=Capture(data, total_bytes=len(data)))


def call(name: str, client: str = "") -> None:
    tools = registry(tool("echo"), tool("other"))
    with Executor(tools, engine=FakeEngine(answer), configuration=load_configuration(), client=client) as executor:
        executor.run(name, {})


def log(tmp_path: Path) -> Path:
    return next((tmp_path / "state/toolc/audit/log").rglob("000001.jsonl"))


def test_show_prints_the_calls_that_match_all_filters() -> None:
    call("echo")
    call("other", client="ci")
    everything = toolc("audit", "show").stdout.splitlines()
    assert [line.split()[1:3] for line in everything] == [["echo", "ok"], ["other", "ok"]]
    assert "client ci" in everything[1]
    for filters, number in (
        (["--tool", "echo"], 1), (["--client", "ci"], 1), (["--client", "ci", "--tool", "echo"], 0),
        (["--outcome", "ok"], 2), (["--outcome", "error"], 0), (["--since", "1h"], 2), (["--since", "2999-01-01"], 0),
        (["--host", "example.com"], 0),
    ):  # fmt: skip
        assert len(toolc("audit", "show", *filters).stdout.splitlines()) == number, filters
    assert json.loads(toolc("audit", "show", "--json", "--tool", "echo").stdout)["arguments"] == {"types": {}}


def test_verify_prints_a_checkpoint_and_finds_what_was_removed_after_it(tmp_path: Path) -> None:
    call("echo")
    call("echo")
    verified = toolc("audit", "verify")
    first, last = verified.stdout.splitlines()
    assert (verified.exit_code, first) == (0, "chain 0: lines 1 to 2 in 1 file: intact")
    checkpoint = last.removeprefix("checkpoint: ")
    assert toolc("audit", "verify", "--checkpoint", checkpoint).exit_code == 0
    log(tmp_path).write_text(log(tmp_path).read_text().splitlines()[0] + "\n")
    removed = toolc("audit", "verify", "--checkpoint", checkpoint)
    assert removed.exit_code == 1
    assert "the checkpoint has number 2, but the chain ends with 1, so lines were removed" in removed.stdout
    assert "checkpoint:" not in removed.stdout


def test_damaged_lines_are_counted_and_not_shown(tmp_path: Path) -> None:
    call("echo")
    with log(tmp_path).open("a") as file:
        file.write("not JSON\n[]\n" + "[" * 200_000 + "\n")
    shown = toolc("audit", "show")
    assert len(shown.stdout.splitlines()) == 1
    assert "3 lines could not be read; run: toolc audit verify" in shown.stderr
    assert toolc("audit", "verify").exit_code == 1


def test_an_inserted_line_cannot_control_the_terminal(tmp_path: Path) -> None:
    call("echo")
    with log(tmp_path).open("a") as file:
        file.write('{"tool": "\\u001b[2Jx\\nforged", "subject": "\x9b2J"}\n')
    for options in ([], ["--json"]):
        shown = toolc("audit", "show", *options).stdout
        assert len(shown.splitlines()) == 2
        assert not {"\x1b", "\x9b"} & set(shown)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "--since", "yesterday"], "--since 'yesterday' is not a time; write 2h, 7d, 2026-11-29"),
        (["show", "--since", "900000d"], "--since '900000d' is not a time"),
        (["show", "--since", "0001-01-01T00:00+05:00"], "--since '0001-01-01T00:00+05:00' is not a time"),
        (["show", "--outcome", "bad"], "'bad' is not one of"),
        (["verify", "--checkpoint", "x"], "'x' is not a checkpoint"),
        (["verify", "--checkpoint", f"0:1:{'0' * 32}"], "the key of the audit log is missing"),
    ],
)
def test_wrong_options_are_explained(arguments: list[str], message: str) -> None:
    result = toolc("audit", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_log_without_calls_is_valid() -> None:
    verified = toolc("audit", "verify")
    assert (verified.exit_code, verified.stdout) == (0, "")
    assert "no call has been recorded yet in" in verified.stderr


def test_without_the_key_audit_there_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "toolc/config.yaml").write_text("engine: auto\n")
    result = toolc("audit", "show")
    assert result.exit_code == 2
    assert "the configuration has no key 'audit', so calls are not recorded; add e.g. audit: {}" in result.stderr
