"""The audit log: what a line says, how a changed log is found, and what happens when a line cannot be written."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from calls.fake_tools import registry, text, tool

from toolc import Allow, Cancellation, Deny, Executor
from toolc.config.configuration import AuditSettings, Configuration
from toolc.model.call import BoundCall, ToolCall
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Plan
from toolc.model.result import Capture, ConnectionAttempt, Outcome, ToolResult
from toolc.telemetry.audit_chain import ROOM_BYTES, read_key
from toolc.telemetry.audit_log import AuditError, AuditFiles, AuditLog
from toolc.telemetry.audit_verify import ChainReport, checkpoint_of, parse_checkpoint, verify
from toolc.telemetry.observation import EndedCall, StartedCall
from toolc.testing.fake_engine import FakeEngine

CANARY = "canary-7f3a9c"
FETCH = tool("fetch", url={"type": "string"}, retries={"type": "integer"})
WIPE = replace(tool("wipe", path={"type": "string"}), confirm=True)


@pytest.fixture
def files(tmp_path: Path) -> AuditFiles:
    return AuditFiles(log=tmp_path / "log", key=tmp_path / "key")


def fetch(_: Plan) -> Outcome:
    """Answer with the canary."""
    data = json.dumps(text(CANARY)).encode()
    return Outcome(ending="exited", reply=Capture(data, total_bytes=len(data)))


def lines(files: AuditFiles) -> list[JsonObject]:
    found = sorted(files.log.rglob("*.jsonl"))
    return [json.loads(line) for path in found for line in path.read_text().splitlines()]


def verified(files: AuditFiles, *checkpoints: str) -> list[ChainReport]:
    known = [position for each in checkpoints for position in parse_checkpoint(each)]
    return verify(files.log, read_key(files.key), known)


def problems(files: AuditFiles, *checkpoints: str) -> str:
    return "\n".join(each for report in verified(files, *checkpoints) for each in report.problems)


def started(call_id: str = "c", value: JsonValue = "x") -> StartedCall:
    registered = registry(FETCH).registered("fetch")
    return StartedCall(tool=registered, call=ToolCall(name="fetch", arguments={"url": value}, call_id=call_id))


def call(log: AuditLog, *call_ids: str) -> None:
    for each in call_ids:
        log.observe(started(each))(EndedCall(result=ToolResult.success("x")))


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the kernel refuse to write more into a file, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class TestLines:
    @pytest.fixture
    def settings(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AuditSettings:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        return AuditSettings(folder=tmp_path / "log")

    def executor(self, settings: AuditSettings) -> Executor:
        configuration = Configuration(audit=settings)
        return Executor(registry(FETCH, WIPE), engine=FakeEngine(fetch), configuration=configuration, client="ci")

    def line(self, settings: AuditSettings) -> JsonObject:
        assert settings.folder
        return lines(AuditFiles(log=settings.folder, key=Path()))[-1]

    def test_a_line_says_who_called_what_and_what_happened(self, settings: AuditSettings) -> None:
        with self.executor(settings) as executor:
            executor.run("fetch", {"url": "https://x.example.com", "retries": 1}, call_id="first")
            tool = executor.registry.registered("fetch")
        line = self.line(settings)
        assert (line["call"], line["client"], line["user"]) == ("first", "ci", os.geteuid())
        assert (line["tool"], line["surface"], line["effect"]) == ("fetch", tool.surface_digest, tool.effect_digest)
        assert (line["outcome"], line["error"], line["engine"]) == ("ok", None, "fake")
        assert isinstance(line["timing_ms"], dict)
        assert "run" in line["timing_ms"]

    @pytest.mark.parametrize("form", ["hmac", "shape"])
    def test_no_argument_and_no_result_is_in_a_line(self, settings: AuditSettings, form: str) -> None:
        with self.executor(replace(settings, arguments=form)) as executor:  # type: ignore[arg-type]
            executor.run("fetch", {"url": f"https://{CANARY}.example.com/", "retries": 1})
            executor.run("fetch", {"url": CANARY, "retries": 1})
            executor.run("fetch", {CANARY: CANARY, "url": [CANARY]})
            executor.run("fetch", json.dumps({"url": CANARY}))  # type: ignore[arg-type]
            executor.run("fetch", {"url": cast("JsonValue", (CANARY,))})
            executor.run("wipe", {"path": "x"}, confirm=lambda _: Deny(CANARY))
        assert settings.folder
        written = "".join(path.read_text() for path in settings.folder.rglob("*.jsonl"))
        assert written.count("\n") == 6
        assert CANARY not in written

    def test_a_host_is_named_unless_it_shares_text_with_an_argument(self, files: AuditFiles) -> None:
        log = AuditLog(files)
        attempts = [
            ConnectionAttempt(host=f"{CANARY}.example.com", port=443, allowed=False, reason=f"not {CANARY}"),
            ConnectionAttempt(host="api.example.com", port=443, allowed=True, entry="api.example.com"),
        ]
        details: JsonObject = {"network": [each.to_json() for each in attempts], "network_not_listed": 3}

        def network(argument: JsonValue) -> list[JsonObject]:
            log.observe(started("c", argument))(EndedCall(result=ToolResult.success("x", details=details)))
            assert lines(files)[-1]["network_not_listed"] == 3
            return cast("list[JsonObject]", lines(files)[-1]["network"])

        refused: JsonObject = {"host": f"{CANARY}.example.com", "port": 443, "allowed": False, "entry": None}
        allowed: JsonObject = {"host": "api.example.com", "port": 443, "allowed": True, "entry": "api.example.com"}
        assert network(["elsewhere", 1, None, True]) == [refused, allowed]
        arguments: list[JsonValue] = [CANARY, f"https://{CANARY.upper()}.example.com/x", {"hosts": [CANARY]}]
        for argument in arguments:
            hidden, named = network(argument)
            assert named == allowed
            assert str(hidden["host"]).startswith("hmac-sha256:")

    def test_changes_of_a_workspace_are_numbers(self, files: AuditFiles) -> None:
        changes: JsonObject = {"added": [{"path": CANARY}], "changed": [], "deleted": [], "total": 1, "committed": True}
        result = ToolResult.success("x", details={"changes": changes})
        AuditLog(files).observe(started())(EndedCall(result=result))
        assert lines(files)[0]["changes"] == {"added": 1, "changed": 0, "deleted": 0, "total": 1, "committed": True}

    def test_a_line_is_never_larger_than_its_room(self, files: AuditFiles) -> None:
        attempt = ConnectionAttempt(host="h" * 3000, port=443, allowed=False).to_json()
        result = ToolResult.success("x", details={"network": [attempt] * 20})
        AuditLog(files).observe(started())(EndedCall(result=result))
        assert (lines(files)[0]["network"], lines(files)[0]["network_not_listed"]) == (None, 20)

    def test_equal_arguments_have_the_same_hmac_and_a_shape_has_types_only(self, settings: AuditSettings) -> None:
        with self.executor(settings) as executor:
            found = list[JsonValue]()
            given: list[JsonObject] = [
                {"url": "a", "retries": 1},
                {"retries": 1, "url": "a"},
                {"url": "b", "retries": 1},
            ]
            for arguments in given:
                executor.run("fetch", arguments)
                found.append(self.line(settings)["arguments"])
        assert found[0] == found[1] != found[2]
        with self.executor(replace(settings, arguments="shape")) as executor:
            executor.run("fetch", {"url": "a", "retries": 1, "more": None})
        log = settings.folder
        assert log
        line = next(each for each in lines(AuditFiles(log=log, key=log)) if isinstance(each["arguments"], dict))
        assert line["arguments"] == {"types": {"retries": "integer", "url": "string"}, "others": 1}

    def test_the_answer_to_a_confirmation_is_recorded(self, settings: AuditSettings) -> None:
        decisions = []
        with self.executor(settings) as executor:
            for answer in (Allow(), Allow({"path": "y"}), Deny()):
                executor.run("wipe", {"path": "x"}, confirm=lambda _, answer=answer: answer)  # type: ignore[misc]
                decisions.append(self.line(settings)["confirmation"])
            executor.run("wipe", {"path": "x"})
        assert decisions == ["allowed", "changed", "denied"]
        assert (self.line(settings)["confirmation"], self.line(settings)["error"]) == (None, "denied")

    def test_a_call_that_is_cancelled_before_the_answer_is_not_denied(self, settings: AuditSettings) -> None:
        cancellation = Cancellation()

        def cancel(_: BoundCall) -> Deny:
            cancellation.cancel()
            return Deny("the call was cancelled")

        with cancellation, self.executor(settings) as executor:
            executor.run("wipe", {"path": "x"}, confirm=cancel, cancellation=cancellation)
        assert (self.line(settings)["confirmation"], self.line(settings)["error"]) == (None, "cancelled")

    def test_a_call_of_an_unknown_tool_has_a_line(self, settings: AuditSettings) -> None:
        with self.executor(settings) as executor:
            for name in ("nothing", f"{CANARY} {CANARY}"):
                executor.run_batch([ToolCall(name=name, arguments={"url": CANARY})])
                line = self.line(settings)
                assert (line["outcome"], line["error"], line["surface"]) == ("refused", "not_found", None)
                assert line["tool"] == "nothing" or str(line["tool"]).startswith("hmac-sha256:")

    def test_a_call_that_raises_has_a_line(self, settings: AuditSettings) -> None:
        def confirm(_: object) -> Allow:
            raise RuntimeError(CANARY)

        with self.executor(settings) as executor, pytest.raises(RuntimeError):
            executor.run("wipe", {"path": "x"}, confirm=confirm)
        assert (self.line(settings)["outcome"], self.line(settings)["error"]) == ("interrupted", "RuntimeError")


class TestChanges:
    @pytest.fixture
    def path(self, files: AuditFiles) -> Path:
        log = AuditLog(files)
        call(log, "a", "b", "c", "d")
        log.close()
        return files.log / "0" / "000001.jsonl"

    def test_an_unchanged_log_has_no_problem(self, files: AuditFiles, path: Path) -> None:
        assert path.exists()
        (report,) = verified(files)
        assert (report.first, report.last, report.problems, report.unfinished) == (1, 4, [], [])

    @pytest.mark.parametrize(
        ("old", "new", "problem"),
        [
            ('"tool":"fetch"', '"tool":"other"', "line 1: the line was changed, or was not written by toolc"),
            ('"outcome":"ok"', '"outcome":"error"', "line 1: the line was changed"),
            ('{"number":1', '{"number":2', "line 1: the line was changed"),
        ],
    )
    def test_a_changed_line_is_found(self, files: AuditFiles, path: Path, old: str, new: str, problem: str) -> None:
        path.write_text(path.read_text().replace(old, new, 1))
        assert problem in problems(files)

    def test_missing_moved_and_foreign_lines_are_found(self, files: AuditFiles, path: Path) -> None:
        a, b, c, d = path.read_text().splitlines(keepends=True)
        path.write_text(a + c + d)
        assert "line 2: it follows a gap of 1 line" in problems(files)
        path.write_text(a + c + b + d)
        assert "it does not follow the line before" in problems(files)
        path.write_text(b + c + d)
        assert "the chain begins with number 2" in problems(files)
        path.write_text(a + b + "{}\n" + c + d)
        assert "line 3: the line was changed, or was not written by toolc" in problems(files)
        path.write_text(a + b + b + c + d)
        assert "it does not follow" in problems(files)

    def test_problems_that_are_not_listed_are_counted(self, files: AuditFiles, path: Path) -> None:
        path.write_text(path.read_text() + "{}\n" * 25)
        (report,) = verified(files)
        assert (len(report.problems), report.problems[-1]) == (21, "and 5 more problems")

    def test_lines_of_another_chain_are_found(self, files: AuditFiles, path: Path) -> None:
        other = files.log / "1"
        (other / "running").mkdir(parents=True)
        (other / path.name).write_bytes(path.read_bytes())
        assert "the line was changed, or was not written by toolc" in problems(files)

    @pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
    def test_a_folder_or_pipe_is_a_removed_file(self, files: AuditFiles, path: Path, make: Callable[..., None]) -> None:
        first, *_, last = path.read_text().splitlines(keepends=True)
        path.write_text(first)
        path.with_name("000003.jsonl").write_text(last)
        make(path.with_name("000002.jsonl"))
        assert problems(files) == "000003.jsonl, line 1: it follows a gap of 2 lines"

    def test_a_removed_end_is_found_only_with_a_checkpoint(self, files: AuditFiles, path: Path) -> None:
        checkpoint = checkpoint_of(verified(files))
        everything = path.read_text()
        path.write_text("".join(everything.splitlines(keepends=True)[:2]))
        assert problems(files) == ""
        assert "the checkpoint has number 4, but the chain ends with 2" in problems(files, checkpoint)
        log = AuditLog(files)
        call(log, "e", "f", "g")
        log.close()
        assert problems(files) == ""
        assert "number 4 is not the line in the checkpoint" in problems(files, checkpoint)
        path.parent.rename(files.log / "old")
        assert "the chain was removed" in problems(files, checkpoint)

    def test_a_removed_chain_is_found_while_there_are_later_ones(self, files: AuditFiles, path: Path) -> None:
        (files.log / "2").mkdir()
        path.parent.rename(files.log / "old")
        problem = "the chain was removed: a checkpoint names it, or a later chain exists"
        assert [(each.name, each.problems) for each in verified(files)] == [
            ("2", []),
            ("0", [problem]),
            ("1", [problem]),
        ]

    def test_older_files_can_be_moved_away_with_a_checkpoint(self, files: AuditFiles, tmp_path: Path) -> None:
        log = AuditLog(replace(files, max_file_bytes=1500))
        call(log, "a", "b")
        first = files.log / "0" / "000001.jsonl"
        number = len(first.read_text().splitlines())
        checkpoint = checkpoint_of(verified(files))
        assert checkpoint.startswith(f"0:{number}:")
        call(log, *map(str, range(10)))
        assert len(list(first.parent.glob("*.jsonl"))) > 2
        later = checkpoint_of(verified(files))
        assert problems(files, checkpoint, later) == ""
        first.rename(tmp_path / "archive.jsonl")
        assert "If you moved older files away" in problems(files)
        assert "If you moved older files away" in problems(files, later)
        assert problems(files, checkpoint, later) == ""

    def test_a_cut_line_differs_from_one_that_a_killed_process_has_begun(self, files: AuditFiles, path: Path) -> None:
        path.write_bytes(path.read_bytes()[:-40])
        assert "the last line was cut: no running call explains it" in problems(files)
        log = AuditLog(files)
        call(log, "e")
        assert "line 4: the line was changed" in problems(files)

    @pytest.mark.parametrize("text", ["", "0", "0:1", "0:1:xyz", "a:1:" + "0" * 32])
    def test_a_wrong_checkpoint_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError, match="is not a checkpoint"):
            parse_checkpoint(text)


class TestProcesses:
    def test_each_writer_has_its_own_chain(self, files: AuditFiles) -> None:
        first, second = AuditLog(files), AuditLog(files)
        call(first, "a")
        call(second, "b")
        first.close()
        call(AuditLog(files), "c")
        assert [(each.name, each.last) for each in verified(files)] == [("0", 2), ("1", 1)]
        assert problems(files) == ""

    def test_calls_of_many_threads_are_in_one_chain(self, files: AuditFiles) -> None:
        log = AuditLog(files)
        threads = [threading.Thread(target=call, args=(log, *map(str, range(20)))) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert (verified(files)[0].last, problems(files)) == (160, "")

    def test_a_forked_process_writes_another_chain(self, files: AuditFiles) -> None:
        log = AuditLog(files)
        call(log, "parent")
        program = f"""
import os, sys
sys.path[:0] = {sys.path!r}
from test_audit_log import *
log = AuditLog(AuditFiles(log=Path({str(files.log)!r}), key=Path({str(files.key)!r})))
call(log, "a")
if os.fork() == 0:
    call(log, "b")
    os._exit(0)
os.wait()
call(log, "c")
"""
        subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parent)
        assert [each.last for each in verified(files)] == [1, 2, 1]
        assert problems(files) == ""

    def test_a_killed_process_leaves_calls_that_the_next_one_records(self, files: AuditFiles) -> None:
        program = f"""
import os, sys, threading
sys.path[:0] = {sys.path!r}
from test_audit_log import *
log = AuditLog(AuditFiles(log=Path({str(files.log)!r}), key=Path({str(files.key)!r})))
def work(number):
    for each in range(1_000_000):
        call(log, f"{{number}}-{{each}}")
log.observe(started("never-ends"))
for number in range(4):
    threading.Thread(target=work, args=(number,), daemon=True).start()
import time
time.sleep(0.3)
print("ready", flush=True)
time.sleep(60)
"""
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=Path(__file__).parent, text=True
        )
        with process:
            assert process.stdout
            process.stdout.readline()
            process.send_signal(signal.SIGKILL)
        (report,) = verified(files)
        assert (report.problems, "never-ends" in {each.record["call"] for each in report.unfinished}) == ([], True)
        unfinished = {each.record["call"] for each in report.unfinished}
        AuditLog(files).close()
        (report,) = verified(files)
        assert (report.problems, report.unfinished) == ([], [])
        recovered = [each for each in lines(files) if each.get("recovered")]
        assert {each["call"] for each in recovered} == unfinished
        assert {each["outcome"] for each in recovered} == {"unknown"}
        calls = [each["call"] for each in lines(files)]
        assert len(calls) == len(set(calls))

    def test_a_process_records_the_killed_calls_of_every_chain(self, files: AuditFiles) -> None:
        logs = [AuditLog(files) for _ in range(3)]
        for number, log in enumerate(logs):
            log.observe(started(str(number)))
        logs[0].close()
        logs[2].close()
        AuditLog(files).close()
        assert [len(each.unfinished) for each in verified(files)] == [0, 1, 0]
        logs[1].close()
        call(AuditLog(files), "next")
        assert [each.last for each in verified(files)] == [2, 1, 1]
        assert problems(files) == ""

    def test_a_line_that_a_killed_process_has_begun_is_not_a_change(self, files: AuditFiles) -> None:
        log = AuditLog(files)
        call(log, "a")
        log.observe(started("b"))
        log.close()
        path = files.log / "0" / "000001.jsonl"
        complete = path.read_bytes()
        for torn in ('{"num', '{"number":2,"call":"b","parent":null,"star'):
            path.write_bytes(complete + torn.encode())
            (report,) = verified(files)
            assert report.problems == []
            assert "this is not a change" in report.notes[0]
            path.write_bytes(complete)
        path.write_bytes(complete + torn.encode())
        AuditLog(files).close()
        (report,) = verified(files)
        assert (report.last, report.problems, report.notes, report.unfinished) == (2, [], [], [])
        assert (lines(files)[1]["call"], lines(files)[1]["outcome"]) == ("b", "unknown")

    def test_a_torn_line_of_another_call_is_a_change(self, files: AuditFiles) -> None:
        log = AuditLog(files)
        call(log, "a")
        log.observe(started("b"))
        path = files.log / "0" / "000001.jsonl"
        path.write_bytes(path.read_bytes() + b'{"number":2,"call":"x')
        assert "the last line was cut" in problems(files)


class TestFullDisk:
    def test_a_call_without_room_for_its_line_is_refused(self, files: AuditFiles) -> None:
        log = AuditLog(files)
        with largest_file(ROOM_BYTES - 1), pytest.raises(AuditError, match=r"fetch was not called: .*free space"):
            log.observe(started())
        call(log, "later")
        assert [each["call"] for each in lines(files)] == ["later"]
        assert (problems(files), verified(files)[0].unfinished) == ("", [])

    def test_calls_that_have_started_keep_their_lines(
        self, files: AuditFiles, caplog: pytest.LogCaptureFixture
    ) -> None:
        log = AuditLog(files)
        call(log, "before")
        while self.size(files) < ROOM_BYTES - 1500:
            call(log, "before")
        names = [f"during-{number}" for number in range(4)]
        ends = [log.observe(started(each)) for each in names]
        with largest_file(ROOM_BYTES):
            for end in ends:
                end(EndedCall(result=ToolResult.success("x")))
            assert "lines of the audit log wait until it can be written, 1 so far" in caplog.text
            with pytest.raises(AuditError):
                log.observe(started("refused"))
        assert lines(files)[-1]["call"] != "during-3"
        call(log, "after")
        assert [each["call"] for each in lines(files)][-5:] == [*names, "after"]
        assert (problems(files), verified(files)[0].unfinished) == ("", [])

    def test_a_line_waits_until_the_next_file_can_be_opened(self, files: AuditFiles) -> None:
        log = AuditLog(replace(files, max_file_bytes=1))
        call(log, "first")
        taken = files.log / "0" / "000002.jsonl"
        taken.mkdir()
        call(log, "waits")
        with pytest.raises(AuditError):
            log.observe(started("refused"))
        taken.rmdir()
        call(log, "last")
        assert [each["call"] for each in lines(files)] == ["first", "waits", "last"]
        assert problems(files) == ""

    def test_a_line_that_waits_survives_the_end_of_the_process(self, files: AuditFiles) -> None:
        log = AuditLog(files)
        call(log, "first")
        end = log.observe(started("during"))
        with largest_file(self.size(files) + 100):
            os.truncate(next((files.log / "0" / "running").iterdir()), self.size(files) + 100)
            end(EndedCall(result=ToolResult.success("x")))
        log.close()
        AuditLog(files).close()
        assert [each["call"] for each in lines(files)] == ["first", "during"]

    def test_calls_run_without_a_line_only_if_the_configuration_says_so(
        self, files: AuditFiles, caplog: pytest.LogCaptureFixture
    ) -> None:
        log = AuditLog(replace(files, when_full="run"))
        with largest_file(0):
            call(log, "a", "b")
        assert "the audit log has no line for the call b of fetch" in caplog.text
        call(log, "c")
        assert [(each["call"], each.get("lines_lost")) for each in lines(files)] == [("c", 2)]

    @staticmethod
    def size(files: AuditFiles) -> int:
        return (files.log / "0" / "000001.jsonl").stat().st_size


class TestKey:
    def test_a_log_without_its_key_is_not_continued_with_another(self, files: AuditFiles) -> None:
        log = AuditLog(files)
        call(log, "a")
        log.close()
        files.key.unlink()
        with pytest.raises(UsageError, match="the key of the audit log is missing"):
            AuditLog(files)

    def test_a_key_that_others_can_read_is_refused(self, files: AuditFiles) -> None:
        AuditLog(files).close()
        files.key.chmod(0o644)
        with pytest.raises(UsageError, match=r"other users can access the key of the audit log; run: chmod 600"):
            AuditLog(files)

    def test_only_the_user_can_read_the_log(self, files: AuditFiles) -> None:
        log = AuditLog(files)
        call(log, "a")
        assert {path.stat().st_mode & 0o077 for path in files.log.rglob("*")} == {0}
        assert files.key.stat().st_mode & 0o077 == 0

    def test_a_folder_that_cannot_be_written_is_named(self, files: AuditFiles) -> None:
        files.log.touch()
        with pytest.raises(UsageError, match=r"the audit log in .* cannot be written"):
            AuditLog(files)
