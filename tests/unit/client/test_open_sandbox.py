"""``Executor.sandbox``: which sandboxes may be opened, and what commands and files give, with a fake engine."""

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from calls.scripted_tools import captured

from toolc import (
    Allow,
    Deny,
    ExecResult,
    Executor,
    FileEntry,
    InfrastructureError,
    Registry,
    Sandbox,
    SandboxDiedError,
    SpecError,
    UsageError,
)
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.errors import PolicyError
from toolc.model.lock_file import LockError, lock_tools
from toolc.model.plan import Exec, Plan
from toolc.model.result import Outcome
from toolc.model.spec.policy import Policy
from toolc.model.spec.sandbox import Limits
from toolc.telemetry.observation import EndedCall, StartedCall, outcome_of
from toolc.testing.fake_engine import FakeEngine

TOOLS = """\
toolc: 1
tools:
  - name: edit
    description: Edit files of the project with a script, for tests of toolc and for nothing else.
    backend: {shell: {script: "true"}}
    sandbox:
      workspace: rw
      env: {COLOR: red}
      secrets: {TOKEN: {expose: env}}
      limits: {timeout: 5s, output: 1KiB}
  - name: wipe
    description: Wipe everything away, for tests of toolc and for nothing else.
    confirm: true
    backend: {shell: {script: "true"}}
  - name: fetch
    description: Fetch a page from a server, for tests of toolc and for nothing else.
    backend: {http: {method: GET, url: "https://example.com/"}}
  - name: change
    description: Change files in a transaction, for tests of toolc and for nothing else.
    backend: {shell: {script: "true"}}
    sandbox: {workspace: {mode: transaction, commit: always}}
"""


def script(plan: Plan) -> Outcome:
    """Do what the first word of the command says."""
    assert isinstance(plan.invocation, Exec)
    word, *words = plan.invocation.argv
    match word:
        case "cat":
            return Outcome(ending="exited", stdout=captured(plan.stdin))
        case "env":
            values = {variable.name: variable.value for variable in plan.env}
            return Outcome(ending="exited", stdout=captured(" ".join(values[each] for each in words).encode()))
        case "die":
            raise RuntimeError("the sandbox fell over")
        case "fail":
            return Outcome(ending="exited", status=3, stderr=captured(b"it failed"))
        case "hang":
            return Outcome(ending="timed_out")
        case "missing":
            return Outcome(ending="not_started", reason="command not found: missing")
        case _:
            return Outcome(ending="out_of_memory")


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(script)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    (tmp_path / "tools.yaml").write_text(TOOLS, encoding="utf-8")
    return Registry.load(tmp_path / "tools.yaml")


@pytest.fixture
def executor(opened: Callable[..., Executor]) -> Iterator[Executor]:
    with opened() as executor:
        yield executor


@pytest.fixture
def opened(engine: FakeEngine, registry: Registry, tmp_path: Path) -> Callable[..., Executor]:
    """Make an executor with more options."""
    (tmp_path / "project").mkdir()
    secrets = SecretStore({"TOKEN": LiteralSource("s3cr3t-value")})
    return partial(Executor, registry, engine=engine, workspace=tmp_path / "project", secrets=secrets, pool=None)


def test_a_command_returns_its_output_and_exit_code(executor: Executor) -> None:
    with executor.sandbox({}) as sandbox:
        assert sandbox.exec(["cat"], stdin=b"\0\xff") == ExecResult(stdout=b"\0\xff", stderr=b"", exit_code=0)
        assert sandbox.exec(["cat"], stdin="text").stdout == b"text"
        assert sandbox.exec(["fail"]) == ExecResult(stdout=b"", stderr=b"it failed", exit_code=3)
        assert sandbox.exec(["hang"]) == ExecResult(stdout=b"", stderr=b"", exit_code=137, timed_out=True)
        assert sandbox.exec(["grow"]) == ExecResult(stdout=b"", stderr=b"", exit_code=137, out_of_memory=True)
        missing = sandbox.exec(["missing"])
        assert (missing.exit_code, missing.reason) == (127, "command not found: missing")


def test_all_commands_use_one_sandbox(executor: Executor, engine: FakeEngine) -> None:
    with executor.sandbox({}) as sandbox:
        sandbox.exec(["cat"])
        sandbox.exec(["cat"])
    assert len(engine.profiles) == 1


def test_the_sandbox_of_a_tool_has_its_profile_and_environment(executor: Executor, engine: FakeEngine) -> None:
    with executor.sandbox("edit") as sandbox:
        assert sandbox.exec(["env", "COLOR", "HOME"], env={"HOME": "/home"}).stdout == b"red /home"
        assert sandbox.details["reviewed"] is True
        assert "digests" in sandbox.details
    (profile,) = engine.profiles
    assert profile.workspace is not None
    assert profile.limits.timeout_ms == 5000


def test_secrets_are_removed_from_the_output_and_from_files(executor: Executor) -> None:
    received: list[bytes] = []
    with executor.sandbox("edit") as sandbox:
        result = sandbox.exec(["env", "TOKEN"], on_output=lambda _, data: received.append(data))
        sandbox.write_file("note", b"s3cr3t-value")
        assert {result.stdout, b"".join(received), sandbox.read_file("note")} == {b"[secret TOKEN]"}


def test_output_is_limited_as_for_calls_of_the_tool(executor: Executor) -> None:
    with executor.sandbox("edit") as sandbox:
        result = sandbox.exec(["cat"], stdin=b"a" * 1000 + b"b" * 1000)
    assert result.truncated
    assert result.stdout == b"a" * 512 + b"b" * 512


def test_a_profile_of_the_program_is_marked_as_not_reviewed(executor: Executor, engine: FakeEngine) -> None:
    with executor.sandbox({"image": "debian:bookworm", "limits": {"pids": 20}, "workspace": "ro"}) as sandbox:
        assert sandbox.details["reviewed"] is False
    (profile,) = engine.profiles
    assert (profile.image, profile.limits) == ("debian:bookworm", Limits(pids=20))


def test_an_invalid_profile_is_refused_with_the_key(executor: Executor) -> None:
    with pytest.raises(SpecError, match="sandbox has no key 'imag'; did you mean 'image'"):
        executor.sandbox({"imag": "debian"})
    with pytest.raises(UsageError, match="profile must be a dict"):
        executor.sandbox(["debian"])  # type: ignore[arg-type]


def test_a_lock_file_refuses_profiles_and_changed_tools(
    engine: FakeEngine, registry: Registry, opened: Callable[..., Executor]
) -> None:
    lock = lock_tools([registry.registered("wipe")], lambda _: (None, ()), "toolc.lock")
    with opened(lock=lock, confirm=lambda _: Allow()) as executor:
        with pytest.raises(LockError, match="approves tools only, not a sandbox with a profile"):
            executor.sandbox({})
        with pytest.raises(LockError, match="edit"):
            executor.sandbox("edit")
        executor.sandbox("wipe").close()
    assert len(engine.profiles) == 1


def test_a_policy_applies_to_tools_and_profiles(opened: Callable[..., Executor]) -> None:
    with opened(policy=Policy(path="policy.yaml", workspace=("ro",))) as executor:
        with pytest.raises(PolicyError, match="workspace"):
            executor.sandbox("edit")
        with pytest.raises(PolicyError, match="workspace"):
            executor.sandbox({"workspace": "rw"})
        executor.sandbox({"workspace": "ro"}).close()


def test_a_policy_without_sessions_forbids_open_sandboxes(opened: Callable[..., Executor]) -> None:
    with (
        opened(policy=Policy(path="policy.yaml", lifetime=("call",))) as executor,
        pytest.raises(PolicyError, match="calls have one sandbox per session"),
    ):
        executor.sandbox("edit")


def test_the_policy_of_the_project_file_forbids_open_sandboxes(tmp_path: Path, engine: FakeEngine) -> None:
    (tmp_path / "tools.yaml").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "toolc.yaml").write_text("policy: {lifetime: [call]}\n", encoding="utf-8")
    registry = Registry.load(tmp_path / "tools.yaml").only("edit")
    with (
        Executor(registry, engine=engine, workspace=tmp_path) as executor,
        pytest.raises(PolicyError, match=r"calls have one sandbox per session, which .*toolc\.yaml does not allow"),
    ):
        executor.sandbox("edit")


def test_a_workspace_that_was_replaced_by_a_link_is_refused(registry: Registry, tmp_path: Path) -> None:
    work, private = tmp_path / "work", tmp_path / "private"
    for each in (work, private):
        each.mkdir()
    engine = FakeEngine(lambda _: Outcome(ending="exited"))
    with Executor(registry, engine=engine, workspace=work) as executor:
        executor.run("change", {})
        work.rename(tmp_path / "moved")
        work.symlink_to(private)
        with pytest.raises(UsageError, match="was replaced since its executor was created"):
            executor.run("change", {})
        with pytest.raises(UsageError, match="was replaced since its executor was created"):
            executor.sandbox({"workspace": "rw"})
        executor.run("change", {}, workspace=private)


def test_a_denied_tool_has_no_sandbox(executor: Executor, engine: FakeEngine) -> None:
    executor.deny("edit")
    with pytest.raises(UsageError, match="the tool 'edit' is denied here"):
        executor.sandbox("edit")
    assert engine.profiles == []


def test_a_tool_with_confirmation_is_confirmed_when_its_sandbox_is_opened(opened: Callable[..., Executor]) -> None:
    asked: list[str] = []
    answers = iter([Deny("not today"), Allow()])

    def confirm(call: Any) -> Any:
        asked.append(call.tool.name)
        return next(answers)

    with opened(confirm=confirm) as executor:
        with pytest.raises(UsageError, match="opening the sandbox of 'wipe' was denied: not today"):
            executor.sandbox("wipe")
        with executor.sandbox("wipe") as sandbox:
            sandbox.exec(["cat"])
            sandbox.exec(["cat"])
    assert asked == ["wipe", "wipe"]


def test_without_a_way_to_ask_it_is_not_opened(executor: Executor) -> None:
    with pytest.raises(UsageError, match="there is no way to ask"):
        executor.sandbox("wipe")


@pytest.mark.parametrize(
    ("name", "reason"), [("fetch", "its backend is 'http'"), ("change", "its workspace is a transaction"), ("no", "no")]
)
def test_tools_without_such_a_sandbox(executor: Executor, name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        executor.sandbox(name)


def test_files(executor: Executor) -> None:
    with executor.sandbox({}) as sandbox:
        sandbox.write_file("a/odd \udcff", "text")
        assert sandbox.read_file("a/odd \udcff") == b"text"
        assert sandbox.list() == (FileEntry(name="a/odd \udcff", type="file", size=4),)
        sandbox.remove("a/odd \udcff")
        with pytest.raises(FileNotFoundError) as caught:
            sandbox.read_file("a/odd \udcff")
        assert caught.value.filename == "a/odd \udcff"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"argv": []}, "argv must name a program"),
        ({"argv": "ls"}, "argv must be a list of strings"),
        ({"argv": ["ls", 1]}, "must be a string; got 1"),
        ({"argv": ["a\0b"]}, "NUL character"),
        ({"argv": ["ls"], "timeout": 0}, "a timeout must be a number of seconds above 0"),
        ({"argv": ["ls"], "user": "root"}, "run as the user fake, not as 'root'; omit 'user'"),
        ({"argv": ["ls"], "stdin": 5}, "stdin must be bytes or a string, not 5"),
        ({"argv": ["ls"], "env": [("A", "b")]}, "env must be a dict, not "),
    ],
)
def test_invalid_arguments(executor: Executor, arguments: dict[str, Any], reason: str) -> None:
    with executor.sandbox({}) as sandbox, pytest.raises(UsageError, match=reason):
        sandbox.exec(**arguments)


def test_the_limit_of_a_file_is_a_whole_number(executor: Executor) -> None:
    limit: Any = None
    with executor.sandbox({}) as sandbox, pytest.raises(UsageError, match="max_bytes must be a whole number; got None"):
        sandbox.read_file("a", max_bytes=limit)


@pytest.mark.parametrize("data", [b"[" * 100_000, b"5", b'[["a", [], 1]]', b'[["a", "file", "1"]]', b"\xff"])
def test_an_invalid_list_of_files_is_an_error_of_the_sandbox(
    executor: Executor, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    with executor.sandbox({}) as sandbox:
        monkeypatch.setattr(Sandbox, "_read", lambda *_: data)
        with pytest.raises(InfrastructureError, match="the sandbox sent an invalid list of files"):
            sandbox.list()


def test_its_own_user_may_be_named(executor: Executor) -> None:
    with executor.sandbox({}) as sandbox:
        assert sandbox.exec(["cat"], user="fake").exit_code == 0


def test_a_sandbox_that_died_raises_for_each_command(executor: Executor) -> None:
    with executor.sandbox({}) as sandbox:
        for _ in range(2):
            with pytest.raises(SandboxDiedError, match="the sandbox fell over"):
                sandbox.exec(["die"])


def test_the_same_with_asyncio(executor: Executor) -> None:
    async def use() -> tuple[bytes, ...]:
        async with await executor.asandbox({}) as sandbox:
            results = await asyncio.gather(*(sandbox.aexec(["cat"], stdin=str(number)) for number in range(20)))
            await sandbox.awrite_file("a", b"1")
            content = await sandbox.aread_file("a")
            assert [each.name for each in await sandbox.alist()] == ["a"]
            await sandbox.aremove("a")
            assert await sandbox.alist() == ()
            return content, *(each.stdout for each in results)

    assert asyncio.run(use()) == (b"1", *(str(number).encode() for number in range(20)))


def sandbox_threads() -> int:
    return sum(thread.name == "toolc sandbox" for thread in threading.enumerate())


def test_closing_the_executor_closes_its_sandboxes(opened: Callable[..., Executor]) -> None:
    with opened() as executor:
        sandbox = executor.sandbox({})
        assert sandbox_threads() == 1
    assert sandbox_threads() == 0
    with pytest.raises(UsageError, match="the sandbox is closed"):
        sandbox.exec(["cat"])
    sandbox.close()


def test_closing_the_executor_closes_all_although_one_cannot_be_closed(
    opened: Callable[..., Executor], monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = opened(keep_results=True)
    first, second = executor.sandbox({}), executor.sandbox({})
    closed: list[Sandbox] = []

    def close(sandbox: Sandbox) -> None:
        closed.append(sandbox)
        raise InfrastructureError("it cannot be stopped")

    with monkeypatch.context() as patch:
        patch.setattr(Sandbox, "close", close)
        with pytest.raises(InfrastructureError, match="it cannot be stopped"):
            executor.close()
    assert {*closed} == {first, second}
    store = executor._options.result_store
    assert store is not None
    assert store.add("a text") is None
    executor.close()


def test_a_forked_process_cannot_use_it(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    with executor.sandbox({}) as sandbox:
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: 1)
            with pytest.raises(UsageError, match="open another one after a fork"):
                sandbox.exec(["cat"])
        assert sandbox.exec(["cat"]).exit_code == 0


def test_a_dropped_sandbox_is_closed(executor: Executor) -> None:
    sandbox: Sandbox | None = executor.sandbox({})
    assert sandbox is not None
    del sandbox
    gc.collect()
    assert sandbox_threads() == 0


class TestRecords:
    """A sandbox that is opened is a call, and what runs in it are parts of that call."""

    @pytest.fixture
    def recorded(self) -> list[tuple[StartedCall, EndedCall]]:
        return []

    @pytest.fixture
    def executor(
        self, opened: Callable[..., Executor], recorded: list[tuple[StartedCall, EndedCall]]
    ) -> Iterator[Executor]:
        def observe(started: StartedCall) -> Callable[[EndedCall], None]:
            return lambda ended: recorded.append((started, ended))

        with opened(observers=[observe], client="ci", confirm=lambda _: Allow()) as executor:
            yield executor

    def test_commands_and_files_with_how_they_ended(
        self, executor: Executor, recorded: list[tuple[StartedCall, EndedCall]]
    ) -> None:
        with executor.sandbox("edit") as sandbox:
            for word in ("cat", "fail", "hang", "grow"):
                sandbox.exec([word])
            sandbox.start(["cat"])
            with pytest.raises(FileNotFoundError):
                sandbox.read_file("missing")
        opening, *parts = recorded
        call_id = opening[0].call.call_id
        assert [each.call.call_id for each, _ in parts] == [f"{call_id}.{number}" for number in range(1, 7)]
        assert {(each.name, each.client) for each, _ in recorded} == {("edit", "ci")}
        assert [each.depth for each, _ in recorded] == [0, 1, 1, 1, 1, 1, 1]
        assert parts[0][0].call.arguments == {"argv": ["cat"], "file": None, "env": {}}
        ok, error = ("ok", None), "error"
        assert [outcome_of(ended) for _, ended in recorded] == [
            ok, ok, (error, "exit_status"), (error, "timeout"), (error, "out_of_memory"), ok, (error, "file"),
        ]  # fmt: skip
        assert opening[1].result
        assert opening[1].result.details["call_id"] == call_id

    def test_a_profile_has_no_tool_and_a_confirmation_is_recorded(
        self, executor: Executor, recorded: list[tuple[StartedCall, EndedCall]]
    ) -> None:
        executor.sandbox({"workspace": "ro"}).close()
        executor.sandbox("wipe").close()
        (profile, _), (_, wipe) = recorded
        assert (profile.tool, profile.call.name, profile.call.arguments) == (None, "sandbox", {"workspace": "ro"})
        assert wipe.decision == "allowed"

    def test_a_sandbox_that_may_not_be_opened_is_refused(
        self, executor: Executor, recorded: list[tuple[StartedCall, EndedCall]]
    ) -> None:
        executor.deny("edit")
        with pytest.raises(UsageError):
            executor.sandbox("edit")
        assert [outcome_of(ended) for _, ended in recorded] == [("refused", "UsageError")]
