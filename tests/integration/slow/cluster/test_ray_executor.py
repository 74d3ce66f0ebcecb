"""``RayExecutor`` on a real cluster of two nodes: each form of a call, sessions, and nodes that die."""

import asyncio
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cli.command_line import toolc
from engines.ray_clusters import add_node, ray_cluster
from engines.waiting_sandboxes import until
from project.paths import DOCS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.cluster.ray_executor import RayExecutor
from toolc.compiler.project.policy import read_policy
from toolc.model.call import Allow, Proposal, ToolCall
from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.events import Event, ToolEnd, ToolStart, ToolUpdate
from toolc.model.json_schema import JsonObject
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.sessions.programs import TerminalSize

ray = pytest.importorskip("ray")

pytestmark = [pytest.mark.integrations, pytest.mark.timeout(600)]

SPEC = """\
toolc: 1
tools:
  - name: echo
    description: Say one word again, for the tests of a cluster only.
    parameters: {word: {type: string, description: A word}}
    backend: {shell: {script: 'echo "$ARG_word"'}}
  - name: echo_late
    description: Say one word again a second later, for the tests of a cluster only.
    parameters: {word: {type: string, description: A word}}
    backend: {shell: {script: 'sleep 1; echo "$ARG_word"'}}
  - name: sleep
    description: Sleep for some seconds, for the tests of a cluster only.
    parameters: {seconds: {type: integer, minimum: 0, description: How long}}
    backend: {shell: {script: 'echo started; sleep "$ARG_seconds"'}}
    sandbox: {limits: {timeout: 600s}}
  - name: count
    description: Count the calls of a session, for the tests of a cluster only.
    parameters: {}
    backend: {python: {code: "N = []\\n\\ndef count():\\n    N.append(1)\\n    return len(N)\\n"}}
    sandbox: {lifetime: session}
  - name: whose
    description: Say whose call this is, for the tests of a cluster only.
    parameters: {tenant: {type: string, from: caller.sub}}
    backend: {shell: {script: 'echo "$ARG_tenant"'}}
  - name: wipe
    tags: [destructive]
    description: Wipe something, for the tests of a cluster only.
    parameters: {}
    confirm: true
    backend: {shell: {argv: [echo, wiped]}}
  - name: strict
    description: Needs a virtual machine, for the tests of a cluster only.
    parameters: {}
    backend: {shell: {argv: [echo, strict]}}
    sandbox: {min_isolation: vm}
  - name: both
    description: Say a word and wipe, for the tests of a cluster only.
    parameters: {word: {type: string, description: A word}}
    backend:
      composite:
        strategy: sequential
        steps:
          - {id: say, tool: echo, args: {word: "{{ word }}"}}
          - {id: wipe, tool: wipe, continue_on_error: true}
  - name: append
    description: Append a word to a file, for the tests of a cluster only.
    parameters: {word: {type: string, description: A word}}
    backend: {shell: {script: 'echo "$ARG_word" >> words.txt'}}
    sandbox: {workspace: rw}
  - name: rewrite
    description: Replace the words of a file, for the tests of a cluster only.
    parameters: {word: {type: string, description: A word}}
    backend: {shell: {script: 'cat words.txt; echo "$ARG_word" > words.txt'}}
    sandbox: {workspace: {mode: transaction, commit: ask}}
  - name: whisper
    description: Print how long a secret is, for the tests of a cluster only.
    parameters: {}
    backend: {shell: {script: 'printf %s "$CANARY" | wc -c'}}
    sandbox: {secrets: {CANARY: {expose: env}}}
  - name: absent
    description: Use a secret that has no value, for the tests of a cluster only.
    backend: {shell: {argv: [printenv, ABSENT]}}
    sandbox: {secrets: {ABSENT: {expose: env}}}
  - name: append_strictly
    description: Append a word and need a virtual machine, for the tests of a cluster only.
    parameters: {word: {type: string, description: A word}}
    backend:
      composite:
        strategy: sequential
        steps:
          - {id: append, tool: append, args: {word: "{{ word }}"}}
          - {id: strict, tool: strict, args: {}}
"""


CANARY = "canary-7f3a9c51d2"
"""A secret that the nodes have in their environment."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOOLC_SECRET_CANARY", CANARY)
        patch.setenv("RAY_DEDUP_LOGS", "0")
        with ray_cluster() as cluster:
            add_node(cluster)
            ray.init(address=cluster.address, log_to_driver=False)
            yield cluster
            ray.shutdown()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    path = tmp_path_factory.mktemp("specs") / "tools.yaml"
    path.write_text(SPEC)
    return Registry.load(path)


@pytest.fixture(scope="module")
def executor(cluster: object, registry: Registry) -> Iterator[RayExecutor]:
    with RayExecutor(registry, engine="oci") as executor:
        until(lambda: len(executor.nodes) == 2)
        yield executor


@pytest.fixture(params=["one machine", "a cluster"])
def either(request: pytest.FixtureRequest, executor: RayExecutor, registry: Registry) -> Iterator[Executor]:
    """An executor of either kind. The tests with this fixture are the conformance suite of both."""
    with Executor(registry, engine="oci") as local:
        yield executor if request.param == "a cluster" else local


def test_results_are_those_of_an_executor_with_the_node_added(executor: RayExecutor, registry: Registry) -> None:
    cases: tuple[tuple[str, JsonObject], ...] = (("echo", {"word": "hi"}), ("echo", {}), ("wipe", {}))
    with Executor(registry, engine="oci") as local:
        for name, arguments in cases:
            here, there = (each.run(name, arguments) for each in (local, executor))
            assert (there.content, there.error, there.is_error) == (here.content, here.error, here.is_error)
            assert there.details.get("digests") == here.details.get("digests")
    assert {each.name for each in executor.nodes} >= {executor.run("echo", {"word": "hi"}).details["node"]}


def test_every_form_of_a_call_works(either: Executor) -> None:
    kinds = [type(event) for event in either.stream("echo", {"word": "hi"})]
    assert (kinds[0], kinds[-1]) == (ToolStart, ToolEnd)
    assert ToolUpdate in kinds
    assert asyncio.run(either.arun("echo", {"word": "hi"})).text == "hi\n"


def test_a_batch_uses_all_nodes_up_to_their_slots_and_keeps_the_order(executor: RayExecutor) -> None:
    free: list[int] = []
    calls = [ToolCall(name="echo_late", arguments={"word": str(number)}) for number in range(40)]
    results = executor.run_batch(
        calls, size=40, on_event=lambda _: free.extend(each.report.slots - each.load for each in executor.nodes)
    )
    assert min(free) == 0, "further calls wait in the driver"
    assert [each.text for each in results] == [f"{number}\n" for number in range(40)]
    assert {each.details["node"] for each in results} == {each.name for each in executor.nodes}


def test_a_cancelled_call_ends(either: Executor) -> None:
    with Cancellation() as cancellation:
        threading.Timer(1, cancellation.cancel).start()
        begun = time.monotonic()
        result = either.run("sleep", {"seconds": 60}, cancellation=cancellation)
    assert (result.error and result.error.kind) == "cancelled"
    assert time.monotonic() - begun < 55


def test_the_calls_of_a_session_share_a_sandbox(either: Executor) -> None:
    results = [either.run("count", {}, session=name) for name in "abab"]
    assert [each.text for each in results] == ["1", "1", "2", "2"]
    either.end_session("a")
    assert either.run("count", {}, session="a").text == "1"


def test_the_driver_confirms_and_a_step_cannot_be_confirmed(executor: RayExecutor) -> None:
    assert executor.run("wipe", {}).is_error
    assert executor.run("wipe", {}, confirm=lambda _: Allow()).text == "wiped\n"
    both = executor.run("both", {"word": "hi"}, confirm=lambda _: Allow())
    assert "a step of another tool cannot be confirm" in both.text


def test_a_call_that_no_node_can_run_says_what_each_node_lacks(executor: RayExecutor) -> None:
    with pytest.raises(InfrastructureError, match="no node of the cluster can run this call:") as raised:
        executor.run("strict", {})
    assert all(f"- {node.name}: " in str(raised.value) for node in executor.nodes)


def test_a_denied_tool_is_not_called(either: Executor) -> None:
    either.deny("echo")
    assert either.run("echo", {"word": "hi"}).is_error
    either.allow("echo")
    assert not either.run("echo", {"word": "hi"}).is_error


def test_a_denied_tag_denies_a_step(either: Executor) -> None:
    either.deny(tags=["destructive"])
    assert "all tools with the tag 'destructive'" in either.run("both", {"word": "hi"}).text
    either.allow(tags=["destructive"])
    assert "all tools with the tag" not in either.run("both", {"word": "hi"}).text


def test_an_update_gives_all_nodes_other_tools_while_calls_run(
    cluster: object, registry: Registry, tmp_path: Path
) -> None:
    changed = tmp_path / "tools.yaml"
    changed.write_text(
        SPEC.replace('echo "$ARG_word"', 'echo "new $ARG_word"')
        .replace("name: wipe", "name: clean")
        .replace("tool: wipe", "tool: clean")
    )
    with RayExecutor(registry, engine="oci") as executor, ThreadPoolExecutor(2) as threads:
        until(lambda: len(executor.nodes) == 2)
        assert executor.run("count", {}, session="a").text == "1"
        executor.deny("wipe")
        running = [threads.submit(executor.run, "sleep", {"seconds": 10}) for _ in range(2)]
        until(lambda: sum(each.load for each in executor.nodes) == 2)
        updated = executor.with_registry(Registry.load(changed), None)
        assert updated.run("echo", {"word": "hi"}).text == "new hi\n"
        assert updated.run("clean", {}, confirm=lambda _: Allow()).text == "wiped\n"
        assert updated.run("count", {}, session="a").text == "2"
        assert executor.run("echo", {"word": "hi"}).text == "hi\n"
        assert [each.result().text for each in running] == ["started\n"] * 2


def test_arguments_are_read_as_the_policy_says(executor: RayExecutor, registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("policy: {arguments: {json_text: false}}\n")
    assert executor.run("sleep", {"seconds": "0"}).text == "started\n"
    with RayExecutor(registry, engine="oci", policy=read_policy(tmp_path / "policy.yaml")) as strict:
        refused = strict.run("sleep", {"seconds": "0"})
    assert (refused.error and refused.error.kind) == "invalid_args"


def test_arguments_from_the_caller_are_filled_in(either: Executor) -> None:
    assert either.run("whose", {}, caller={"sub": "a"}).text == "a\n"
    for arguments, caller in (({"tenant": "a"}, {"sub": "a"}), ({}, None)):
        refused = either.run("whose", dict(arguments), caller=caller)
        assert (refused.error and refused.error.kind) == "denied"


def test_calls_with_the_same_id_are_independent(either: Executor) -> None:
    with ThreadPoolExecutor(6) as threads:
        calls = [threads.submit(either.run, "sleep", {"seconds": 1}, call_id="call_1") for _ in range(6)]
    assert [each.result().text for each in calls] == ["started\n"] * 6


def test_an_exception_of_a_listener_ends_the_call(either: Executor) -> None:
    def refuse(event: object) -> None:
        if isinstance(event, ToolUpdate):
            raise ValueError("refused")

    def is_running() -> bool:
        lines = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
        return b"sleep\x00311\x00" in lines

    with pytest.raises(ValueError, match="refused"):
        either.run("sleep", {"seconds": 311}, on_event=refuse)
    until(lambda: not is_running())


def test_a_call_ends_before_its_executor_is_closed_and_later_calls_are_refused(
    cluster: object, registry: Registry
) -> None:
    executor = RayExecutor(registry, engine="oci")
    until(lambda: len(executor.nodes) == 2)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(executor.run, "sleep", {"seconds": 2})
        until(lambda: any(each.load for each in executor.nodes))
        executor.close()
        assert call.result().text == "started\n"
    with pytest.raises(UsageError, match="the executor is closed"):
        executor.run("echo", {"word": "hi"})


def test_a_composite_whose_second_step_no_node_can_run_is_not_repeated(
    cluster: object, registry: Registry, tmp_path: Path
) -> None:
    with (
        RayExecutor(registry, engine="oci", shared_workspace=tmp_path) as executor,
        pytest.raises(InfrastructureError, match="a step cannot run on this node, and other steps may have run"),
    ):
        executor.run("append_strictly", {"word": "hi"})
    assert (tmp_path / "words.txt").read_text() == "hi\n"


def test_a_workspace_must_be_shared(cluster: object, executor: RayExecutor, registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a workspace; pass RayExecutor"):
        executor.run("append", {"word": "hi"})
    (tmp_path / "a").mkdir()
    with RayExecutor(registry, engine="oci", shared_workspace=tmp_path) as shared:
        assert not shared.run("append", {"word": "hi"}, workspace=tmp_path / "a").is_error
        with pytest.raises(UsageError, match=r"workspace: rw.*pass a folder that all nodes share"):
            shared.run("append", {"word": "hi"}, workspace=tmp_path.parent)
    assert (tmp_path / "a" / "words.txt").read_text() == "hi\n"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_workspace_is_sent_and_its_changes_come_back(cluster: object, registry: Registry, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("old\n")
    proposed: list[str] = []

    def approve(proposal: Proposal) -> bool:
        proposed.append(proposal.workspace)
        return len(proposed) == 1

    with RayExecutor(registry, engine="oci", workspace=tmp_path, approve_changes=approve) as executor:
        events: list[Event] = []
        result = executor.run("rewrite", {"word": "new"}, on_event=events.append)
        assert [each.percent for each in events if isinstance(each, ToolUpdate) and each.stream is None] == [100.0]
        assert (result.text, result.is_error, words.read_text()) == ("old\n", False, "new\n")
        refused = executor.run("rewrite", {"word": "newer"})
        assert "the changes were not approved" in refused.text
    assert (words.read_text(), proposed) == ("new\n", [str(tmp_path)] * 2)
    assert str(tmp_path) not in str(result.content)


def test_the_value_of_a_secret_is_nowhere_in_ray(
    cluster: Any, executor: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = executor.run("whisper", {})
    assert (result.text, CANARY.encode() in pickle.dumps(result)) == (f"{len(CANARY)}\n", False)
    folder = Path(ray._private.worker.global_worker.node.get_session_dir_path())
    time.sleep(2)  # Ray writes its logs and the events of tasks at intervals
    files = [*folder.rglob("*"), *Path("/dev/shm").glob("*plasma*")]
    holders = [path for path in files if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert len(files) > 20
    assert holders == []


def test_an_error_of_a_node_has_its_name(executor: RayExecutor) -> None:
    with pytest.raises(UsageError, match=r"(?s)on the node .+\):.+the secret 'ABSENT' has no value"):
        executor.run("absent", {})


@pytest.mark.parametrize(
    ("name", "printed"), [("rollouts.py", "50 episodes, at most 10 steps"), ("dataset.py", "20 answers: higher lower")]
)
def test_the_programs_of_the_guide(cluster: Any, tmp_path: Path, name: str, printed: str) -> None:
    page = (DOCS / "guides" / "clusters.md").read_text(encoding="utf-8")
    (tmp_path / "specs").mkdir()
    for path, text in re.findall(r"^```\w+\n# ([\w./]+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        (tmp_path / path).write_text(text)
    environment = {**os.environ, "RAY_ADDRESS": cluster.address, "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        [sys.executable, name], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    assert (done.stdout.strip().split("\n")[-1], done.stderr * done.returncode) == (printed, "")


def test_an_open_sandbox_stays_on_its_node(executor: RayExecutor, cluster: object) -> None:
    with executor.sandbox({"lifetime": "session"}) as sandbox:
        sandbox.write_file("a.txt", "hi")
        assert sandbox.exec(["sh", "-c", "cat a.txt; exit 3"]).exit_code == 3
        assert [each.name for each in sandbox.list()] == ["a.txt"]
        assert asyncio.run(sandbox.aread_file("a.txt")) == b"hi"
        assert sandbox.details["node"] in {each.name for each in executor.nodes}
        with pytest.raises(FileNotFoundError):
            sandbox.read_file("b.txt")
        with Cancellation() as cancellation:
            threading.Timer(1, cancellation.cancel).start()
            begun = time.monotonic()
            sandbox.exec(["sleep", "60"], cancellation=cancellation)
        assert time.monotonic() - begun < 55
    with pytest.raises(UsageError, match="the sandbox is closed"):
        sandbox.read_file("a.txt")
    with executor.sandbox("echo") as reviewed:
        assert reviewed.details["reviewed"] is True
    with pytest.raises(InfrastructureError, match="no node of the cluster can run this call"):
        executor.sandbox("strict")
    with pytest.raises(UsageError, match="must be confirmed"):
        executor.sandbox("wipe")


def test_programs_of_an_open_sandbox_run_while_others_do(executor: RayExecutor) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("refused")

    pieces: list[tuple[str, bytes]] = []
    with executor.sandbox({"lifetime": "session"}) as sandbox:
        cat = sandbox.start(["cat"])
        cat.write(b"one\n")
        ended = sandbox.exec(
            ["sh", "-c", "echo a; echo b >&2; exit 3"], on_output=lambda stream, data: pieces.append((stream, data))
        )
        assert (ended.exit_code, ended.stdout, sorted(pieces)) == (3, b"a\n", [("stderr", b"b\n"), ("stdout", b"a\n")])
        cat.write(b"two\n", is_last=True)
        assert cat.wait(lambda _, data: pieces.append(("cat", data))).stdout.data() == b"one\ntwo\n"
        assert b"".join(data for stream, data in pieces if stream == "cat") == b"one\ntwo\n"
        endless = sandbox.start(["sleep", "60"], terminal=TerminalSize(rows=24, columns=80))
        endless.resize(TerminalSize(rows=30, columns=100))
        endless.kill()
        assert (endless.wait().exit_code, endless.unsent_bytes) == (137, 0)
        with pytest.raises(ValueError, match="refused"):
            sandbox.exec(["sh", "-c", "echo a; exec sleep 322"], on_output=refuse)
        until(
            lambda: (
                "sleep 322" not in sandbox.exec(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]).stdout.decode()
            )
        )
        with pytest.raises(FileNotFoundError):
            sandbox.exec(["true"], cwd="/missing", on_output=refuse)
    with pytest.raises(UsageError, match="the sandbox is closed"):
        sandbox.start(["true"])


def test_a_batch_and_a_report_from_the_command_line(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(SPEC)
    lines = (json.dumps({"id": str(number), "tool": "echo", "arguments": {"word": "hi"}}) for number in range(20))
    (tmp_path / "calls.jsonl").write_text("".join(f"{line}\n" for line in lines))
    done = toolc(
        "batch", str(tmp_path / "tools.yaml"), str(tmp_path / "calls.jsonl"), "--out", str(tmp_path / "out.jsonl"),
        "--engine", "oci", "--address", cluster.address,
    )  # fmt: skip
    assert (done[0], "20 of 20 calls have ended: 20 ok" in done[2]) == (0, True)
    with RayExecutor(Registry.load(tmp_path / "tools.yaml"), engine="oci") as executor:
        executor.run("echo", {"word": "hi"})
        until(lambda: any(each.waiting for pool in executor.pools().values() for each in pool))
        assert " warm sandbox" in toolc("doctor", "--address", cluster.address)[1]
    status, out, _ = toolc("doctor", "--address", cluster.address)
    assert (status, out.count("oci "), "2 nodes, " in out) == (0, 2, True)


def test_the_client_of_ray_is_refused(registry: Registry) -> None:
    with pytest.raises(UsageError, match="Ray Client"):
        RayExecutor(registry, address="ray://localhost:10001")


def test_a_node_that_joins_is_used_and_one_that_dies_is_named(cluster: Any, executor: RayExecutor) -> None:
    node = add_node(cluster)
    until(lambda: len(executor.nodes) == 3)
    (joined,) = (each for each in executor.nodes if each.id == node.node_id)
    started: list[Event] = []

    def note(event: Event) -> None:
        if isinstance(event, ToolUpdate):
            started.append(event)

    with ThreadPoolExecutor(6) as threads, Cancellation() as cancellation:
        calls = [
            threads.submit(executor.run, "sleep", {"seconds": 600}, on_event=note, cancellation=cancellation)
            for _ in range(6)
        ]
        until(lambda: len(started) == 6)
        assert joined.load > 0
        sessions = {executor.run("count", {}, session=str(each)).details["node"]: str(each) for each in range(9)}
        cluster.remove_node(node, allow_graceful=False)
        until(lambda: any(each.done() for each in calls) and len(executor.nodes) == 2)
        cancellation.cancel()
    died = [error for each in calls if isinstance(error := each.exception(), InfrastructureError)]
    assert 1 <= len(died) < 6
    assert all(f"the node {joined.name} died while it ran a call of sleep" in str(each) for each in died)
    assert executor.run("echo", {"word": "hi"}).text == "hi\n"
    assert {executor.run("count", {}, session=each).text for each in sessions.values()} <= {"1", "2"}
