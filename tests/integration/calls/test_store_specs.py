import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from calls.http_tools import failed
from engines.configurations import available
from engines.gvisor_daemon import gvisor_socket
from project.paths import SPECS
from workspaces.interrupted_stores import interrupt

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.oci.engine import OciEngine

STORES = ("database", "knowledge", "schedule", "schedule_runner")
"""The specs of tools that keep a SQLite file."""

# A new entry of the schedule is in the future. The days of 2099 are those of 2026.

Call: TypeAlias = Callable[..., JsonValue]
"""Calls a tool in the test's workspace: its data, or the kind of its error."""


@pytest.fixture(scope="module")
def registry() -> Registry:
    """The tools of these specs, which are compiled once."""
    made = Registry()
    for name in STORES:
        made.add(Registry.load(SPECS / f"{name}.yaml"))
    return made


@pytest.fixture
def call(registry: Registry, engine: OciEngine, tmp_path: Path) -> Iterator[Call]:
    with Executor(registry, workspace=tmp_path, engine=engine) as executor:

        def call(name: str, **arguments: JsonValue) -> JsonValue:
            result = executor.run(name, arguments)
            return result.error.kind if result.error else result.data

        yield call


FACTS = ("Ada prefers tea to coffee.", "The office closes at six.", "Coffee is in the kitchen; tea is too.")


def data_of(data: JsonValue) -> dict[str, Any]:
    assert isinstance(data, dict), data
    return data


def ids(data: JsonValue, name: str = "results") -> list[int]:
    return [each["id"] for each in data_of(data)[name]]


def test_text_without_spaces_is_found_by_pairs_of_characters(call: Call) -> None:
    facts = ("Ada 喜欢喝绿茶。", "オフィスは東京駅の近くにあります。", "회의는 월요일에 있습니다")
    for fact in facts:
        call("remember", text=fact)
    asked = ("绿茶", "茶", "東京", "월요일 회의", "Ada 绿茶 오피스")
    assert [ids(call("knowledge_search", query=query)) for query in asked] == [[1], [1], [2], [3], [1]]
    assert ids(call("knowledge_search", query="喝茶")) == []
    assert ids(call("forget", query="Ada 绿茶"), "facts") == [1]
    assert ids(call("forget", query="Ada 東京"), "facts") == []


def test_notes_are_found_by_words_best_first(call: Call) -> None:
    assert [call("remember", text=fact) for fact in FACTS] == [{"id": n, "new": True} for n in (1, 2, 3)]
    assert call("remember", text=FACTS[1]) == {"id": 2, "new": False}
    assert ids(call("knowledge_search", query="when do the offices close?"))[0] == 2
    assert ids(call("knowledge_search", query="preferring tea")) == [1, 3]
    assert ids(call("knowledge_search", query="tea", limit=1)) == [1]
    scores = [each["score"] for each in data_of(call("knowledge_search", query="preferring tea"))["results"]]
    assert scores[0] == 1 > scores[1] > 0
    assert ids(call("knowledge_search", query="AND OR NOT NEAR( * \"'")) == []
    assert ids(call("knowledge_search", query="?!")) == []


def test_notes_are_selected_by_topic_and_tags(call: Call) -> None:
    call("remember", text=FACTS[0], topic="Ada", tags=["drinks", "team"])
    call("remember", text=FACTS[2], topic="office", tags=["drinks"])
    call("remember", text=FACTS[2], topic="office", tags=["kitchen"])
    assert ids(call("knowledge_search", query="tea", topic="Ada")) == [1]
    assert ids(call("knowledge_search", query="tea", tags=["drinks"])) == [1, 2]
    assert ids(call("knowledge_search", query="tea", tags=["drinks", "kitchen"])) == [2]
    assert ids(call("knowledge_search", query="team")) == [1], "tags are words to find"


def test_a_tag_that_was_added_later_is_a_word_to_find(call: Call) -> None:
    call("remember", text="The desk is oak.")
    call("remember", text="The desk is oak.", tags=["größe"])
    assert ids(call("knowledge_search", query="größe")) == [1]


def test_a_changed_note_is_found_by_its_new_words_only(call: Call) -> None:
    call("remember", text=FACTS[1], topic="office")
    changed = call("knowledge_update", id=1, text="The office closes at seven.", tags=["hours"])
    assert isinstance(changed, dict)
    assert (changed["text"], changed["topic"], changed["tags"]) == ("The office closes at seven.", "office", ["hours"])
    assert ids(call("knowledge_search", query="six")) == []
    assert ids(call("knowledge_search", query="seven")) == [1]


def test_notes_are_forgotten_by_id_or_after_a_preview(call: Call, tmp_path: Path) -> None:
    for fact in FACTS:
        call("remember", text=fact, tags=["a"])
    shown = data_of(call("forget", query="coffee tea"))
    assert (ids(shown, "facts"), shown["removed"], shown["matching"]) == ([1, 3], 0, 2)
    assert call("forget", query="coffee tea", expected_count=1) == "invalid_args"
    assert ids(call("knowledge_search", query="tea")) == [1, 3]
    gone = data_of(call("forget", query="coffee tea", expected_count=2))
    assert (ids(gone, "facts"), gone["removed"]) == ([1, 3], 2)
    assert ids(call("knowledge_search", query="tea")) == []
    with closing(sqlite3.connect(tmp_path / "knowledge.sqlite")) as store, store:
        store.execute("UPDATE facts SET remembered = '2020-01-01T00:00:00Z'")
    assert ids(call("forget", older_than="1y", tags=["a"]), "facts") == [2]
    assert ids(call("forget", older_than="1y", tags=["b"]), "facts") == []
    assert call("forget", ids=[2], expected_count=2) == "invalid_args"
    assert ids(call("forget", ids=[2], expected_count=1), "facts") == [2]
    assert call("forget", ids=[2]) == "not_found"


ENGINES = ("docker", "docker+gvisor", "oci root")


@pytest.fixture
def executors(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Executor]]:
    """Return a function that makes executors of the store's tools on the engine that the test's parameter names."""
    configuration = available(request.param)
    folder = tmp_path / "specs"
    shutil.copytree(SPECS, folder, ignore=shutil.ignore_patterns("plugins", "templates", "toolc.yaml"))
    code = folder / "store.py"
    # A call waits for another one even if the machine stalls.
    code.write_text(code.read_text(encoding="utf-8").replace("WAIT_SECONDS = 5", "WAIT_SECONDS = 30"), encoding="utf-8")
    registry = Registry()
    for name in STORES:
        spec = folder / f"{name}.yaml"
        text = re.sub(r"timeout: \d+s", "timeout: 100s", spec.read_text(encoding="utf-8"))
        isolated = f"  sandbox:\n    min_isolation: {configuration.min_isolation}\n"
        spec.write_text(text.replace("  sandbox:\n", isolated, 1), encoding="utf-8")
        registry.add(Registry.load(spec))
    (tmp_path / "work").mkdir()
    engine = configuration.make()
    yield lambda: Executor(registry, workspace=tmp_path / "work", engine=engine)
    engine.close()


@pytest.mark.parametrize("executors", ENGINES, indirect=True)
def test_stores_behave_the_same_on_every_engine(executors: Callable[[], Executor]) -> None:
    with executors() as executor:

        def call(name: str, **arguments: JsonValue) -> Any:
            result = executor.run(name, arguments)
            return result.error.kind if result.error else result.data

        assert call("remember", text=FACTS[0], tags=["team"]) == {"id": 1, "new": True}
        assert ids(call("knowledge_search", query="preferring tea", tags=["team"])) == [1]
        assert call("knowledge_update", id=1, text="Ada prefers milk.")["tags"] == ["team"]
        assert ids(call("forget", query="milk"), "facts") == [1]
        assert call("forget", query="milk", expected_count=1)["removed"] == 1
        call("schedule_create", what="x", cron="30 2 * * *", time_zone="Europe/Berlin")
        assert [each["what"] for each in entries_of(call("schedule_list"))] == ["x"]
        assert call("schedule_take", now="1980-01-01T00:00:00Z") == {"entries": []}
        assert call("schedule_delete", id=1)["cron"] == "30 2 * * *"
        create = "CREATE TABLE t AS SELECT 1 AS n"
        assert call("database_execute", path="a.sqlite", query=create)["changed_rows"] == 0
        assert call("database_query", path="a.sqlite", query="SELECT n FROM t")["rows"] == [[1]]
        assert call("database_query", path="a.sqlite", query="DELETE FROM t") == "denied"
        assert call("database_execute", path="a.sqlite", query="INSERT INTO u VALUES (1)") == "invalid_args"


@pytest.mark.parametrize("executors", ENGINES, indirect=True)
def test_two_agents_write_to_one_store(executors: Callable[[], Executor], tmp_path: Path) -> None:
    numbers: list[int] = []

    def remember_all(agent: int) -> None:
        with executors() as executor:
            for number in range(10):
                added = executor.run("remember", {"text": f"fact {number} of {agent}"})
                numbers.append(data_of(added.data or {"id": added.text})["id"])
                found = executor.run("knowledge_search", {"query": f"{number} {agent}", "limit": 50})
                assert found.error is None
                row: dict[str, JsonValue] = {"path": "a.sqlite", "query": "INSERT INTO t VALUES (1)"}
                assert executor.run("database_execute", row).error is None

    with executors() as executor:
        executor.run("database_execute", {"path": "a.sqlite", "query": "CREATE TABLE t (n)"})
    with ThreadPoolExecutor(2) as agents:
        list(agents.map(remember_all, range(2)))
    assert sorted(numbers) == list(range(1, 21))
    for name, table in (("knowledge", "facts"), ("a", "t")):
        with closing(sqlite3.connect(tmp_path / "work" / f"{name}.sqlite")) as store:
            assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert store.execute(f"SELECT count(*) FROM {table}").fetchone() == (20,)
    assert sorted(each.name for each in (tmp_path / "work").iterdir()) == ["a.sqlite", "knowledge.sqlite"]


@pytest.mark.parametrize("executors", ["docker+gvisor"], indirect=True)
def test_the_lock_of_a_killed_call_is_removed_after_a_minute(executors: Callable[[], Executor], tmp_path: Path) -> None:
    lock = tmp_path / "work/knowledge.sqlite.lock"
    lock.mkdir()
    with executors() as executor:
        kind, message = failed(executor.run("remember", {"text": FACTS[0]}))
        assert (kind, "try again in a minute" in message) == ("conflict", True)
        os.utime(lock, (time.time() - 70, time.time() - 70))
        assert executor.run("remember", {"text": FACTS[0]}).data == {"id": 1, "new": True}
    assert not lock.exists()


WRITER = """\
import sys
from toolc import Executor, Registry
registry = Registry()
registry.add(*(Registry.load(f"{sys.argv[1]}/{name}.yaml") for name in ("knowledge", "schedule")))
with Executor(registry, workspace=sys.argv[2], engine=sys.argv[3]) as executor:
    for number in range(10**6):
        text = f"{sys.argv[4]} {number} "
        fact = executor.run("remember", {"text": text + "x" * 9000})
        entry = executor.run("schedule_create", {"what": text + "x" * 1900, "every": "1d"})
        if fact.data and entry.data:
            print(fact.data["id"], entry.data["id"], flush=True)
"""


@pytest.mark.integrations
@pytest.mark.timeout(600)
@pytest.mark.parametrize("executors", ["docker+gvisor", "oci root"], indirect=True)
def test_stores_survive_writers_that_are_killed(
    executors: Callable[[], Executor], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    is_oci = "oci root" in request.node.name
    environment = {**os.environ} if is_oci else {**os.environ, "DOCKER_HOST": f"unix://{gvisor_socket()}"}
    work = tmp_path / "work"
    confirmed: list[str] = []
    for attempt in range(4):
        argv = [sys.executable, "-c", WRITER, str(tmp_path / "specs"), str(work), "oci" if is_oci else "docker"]
        argv.append(str(attempt))
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as writer:
            assert writer.stdout is not None
            confirmed += [writer.stdout.readline() for _ in range(1 + attempt % 2)]
            time.sleep(0.07 * attempt)
            writer.kill()
            confirmed += writer.stdout.readlines()
        for lock in work.glob("*.lock"):
            os.utime(lock, (1, 1))  # as a minute later
    with executors() as executor:
        end = time.monotonic() + 120
        last: dict[str, JsonObject] = {
            "remember": {"text": "last"}, "schedule_create": {"what": "last", "every": "1d"}
        }  # fmt: skip
        for name, given in last.items():
            while (error := executor.run(name, given).error) is not None:
                assert (error.kind, time.monotonic() < end) == ("conflict", True), error
    for column, store, table in ((0, "knowledge", "facts"), (1, "schedule", "entries")):
        with closing(sqlite3.connect(work / f"{store}.sqlite")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            kept = {row[0] for row in connection.execute(f"SELECT id FROM {table}")}
        assert kept >= {int(line.split()[column]) for line in confirmed}, "what was confirmed is never lost"


@pytest.mark.parametrize("executors", ENGINES, indirect=True)
def test_an_interrupted_change_is_undone(executors: Callable[[], Executor], tmp_path: Path) -> None:
    work = tmp_path / "work"
    with executors() as executor:

        def call(name: str, **arguments: JsonValue) -> Any:
            result = executor.run(name, arguments)
            assert result.error is None, result
            return result.data

        numbers = "json_each('[1,2,3,4,5,6,7,8,9]')"
        create = f"CREATE TABLE t AS SELECT value AS n, hex(zeroblob(4000)) AS t FROM {numbers}"
        call("database_execute", path="a.sqlite", query=create)
        for number in range(9):
            call("remember", text=f"fact {number} {'x' * 9000}")
            call("schedule_create", what=f"task {number} {'x' * 1900}", at="2099-03-01T08:00:00Z")
        interrupt(work / "knowledge.sqlite", "UPDATE facts SET text = 'lost'")
        interrupt(work / "schedule.sqlite", "UPDATE entries SET what = 'lost'")
        interrupt(work / "a.sqlite", "UPDATE t SET n = 0, t = 'lost'")
        before = (work / "knowledge.sqlite").read_bytes()
        assert ids(call("knowledge_search", query="fact 7"))[0] == 8
        assert (work / "knowledge.sqlite").read_bytes() == before, "a search changes nothing"
        found = call("schedule_due", limit=1, now="2099-03-01T08:00:00Z")
        assert [each["what"][:6] for each in entries_of(found)] == ["task 0"]
        found = call("schedule_take", limit=1, now="2099-03-01T08:00:00Z")
        assert [each["what"][:6] for each in entries_of(found)] == ["task 0"]
        assert call("remember", text="new") == {"id": 10, "new": True}
        repaired = executor.run("database_query", {"path": "a.sqlite", "query": "SELECT sum(n) FROM t"})
        assert "was interrupted; the next c" in failed(repaired)[1]
        call("database_execute", path="a.sqlite", query="DELETE FROM t WHERE n = 9")
        assert call("database_query", path="a.sqlite", query="SELECT sum(n) FROM t")["rows"] == [[36]]
    assert sorted(each.name for each in work.iterdir()) == ["a.sqlite", "knowledge.sqlite", "schedule.sqlite"]


def test_a_plan_is_created_changed_listed_and_cancelled(call: Call) -> None:
    late = call("schedule_create", what="Call Ada", at="2099-03-01T09:00:00+01:00", every="1w")
    early = call("schedule_create", what="Pack", at="2099-03-01T07:30:00Z")
    assert call("schedule_list") == {"entries": [early, late]}
    assert call("schedule_list", after="2099-03-01T08:00:00Z") == {"entries": [late]}
    assert call("schedule_list", before="2099-03-01T08:00:00Z") == {"entries": [early]}
    moved = call("schedule_update", id=1, at="2099-02-28T18:00:00-05:00")
    assert isinstance(moved, dict)
    assert (moved["at"], moved["every"], moved["what"]) == ("2099-02-28T23:00:00Z", "1w", "Call Ada")
    assert call("schedule_list", limit=1) == {"entries": [moved]}
    assert call("schedule_delete", id=1) == moved
    assert call("schedule_delete", id=1) == "not_found"
    assert call("schedule_list") == {"entries": [early]}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cron": "0 9 * * MON"}, {"every": None, "cron": "0 9 * * MON", "time_zone": "UTC"}),
        ({"every": "2h"}, {"every": "2h", "cron": None, "at": "2099-03-01T08:00:00Z"}),
        ({"time_zone": "Europe/Berlin"}, {"time_zone": "Europe/Berlin", "every": "1w", "at": "2099-03-01T08:00:00Z"}),
        ({"what": "Other"}, {"what": "Other", "every": "1w", "at": "2099-03-01T08:00:00Z"}),
        ({"tool": "send_mail", "arguments": {"to": "ada"}}, {"tool": "send_mail", "arguments": {"to": "ada"}}),
        ({"at": "2099-07-01T09:00:00", "time_zone": "Europe/Berlin"}, {"at": "2099-07-01T07:00:00Z", "every": "1w"}),
    ],
)
def test_an_update_keeps_what_is_not_given(call: Call, changes: dict[str, JsonValue], expected: JsonValue) -> None:
    call("schedule_create", what="Call Ada", at="2099-03-01T08:00:00Z", every="1w")
    changed = call("schedule_update", id=1, **changes)
    assert isinstance(changed, dict)
    assert isinstance(expected, dict)
    assert {name: changed[name] for name in expected} == expected


def test_a_time_in_the_past_is_refused_and_the_error_has_the_present_one(engine: OciEngine, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    late, present = ((now - timedelta(seconds=seconds)).isoformat() for seconds in (90, 0))
    with Executor(Registry.load(SPECS / "schedule.yaml"), workspace=tmp_path, engine=engine) as executor:
        assert executor.run("schedule_create", {"what": "x", "at": present}).error is None
        calls: list[tuple[str, JsonObject]] = [
            ("schedule_create", {"what": "x", "at": late}),
            ("schedule_create", {"what": "x", "at": late, "every": "1d"}),
            ("schedule_update", {"id": 1, "at": late}),
        ]
        for name, arguments in calls:
            kind, message = failed(executor.run(name, arguments))
            found = re.fullmatch(r"at: '(.*)' is in the past: it is (.*) now; give the next time .*", message)
            assert found, message
            assert kind == "invalid_args"
            assert found[1] == late
            assert now.replace(microsecond=0) <= datetime.fromisoformat(found[2]) <= datetime.now(UTC)
        (kept,) = entries_of(executor.run("schedule_list", {}).data)
        assert kept["at"] == now.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_the_unit_of_an_old_entry_is_repaired_by_an_update(call: Call, tmp_path: Path) -> None:
    call("schedule_create", what="x", every="30min")
    with closing(sqlite3.connect(tmp_path / "schedule.sqlite")) as store, store:
        store.execute("UPDATE entries SET every = '30m', at = '2026-03-01T08:00:00Z'")
    assert call("schedule_take", now="2026-03-01T08:10:00Z") == "file"
    repaired = data_of(call("schedule_update", id=1, every="30min"))
    assert (repaired["every"], repaired["at"]) == ("30min", "2026-03-01T08:00:00Z")
    assert due(call, "2026-03-01T09:10:00Z") == [("2026-03-01T08:00:00Z", 2)]


def entries_of(data: JsonValue) -> list[dict[str, Any]]:
    return list(data_of(data)["entries"])


def due(call: Call, now: str, name: str = "schedule_take") -> list[tuple[JsonValue, JsonValue]]:
    """Return the due times and the counts of missed runs at a time."""
    return [(each["due"], each["missed"]) for each in entries_of(call(name, now=now))]


DAYLIGHT_SAVING = {
    "a skipped time runs after the change": (
        "30 2 * * *", "2099-03-28T12:00:00Z", ["2099-03-29T01:00:00Z", "2099-03-30T00:30:00Z"]
    ),
    "a repeated time runs once": (
        "30 2 * * *", "2099-10-24T12:00:00Z", ["2099-10-25T00:30:00Z", "2099-10-26T01:30:00Z"]
    ),
    "half hours follow the elapsed time": (
        "*/30 * * * *", "2099-10-25T00:15:00Z",
        ["2099-10-25T00:30:00Z", "2099-10-25T01:00:00Z", "2099-10-25T01:30:00Z", "2099-10-25T02:00:00Z"],
    ),
    "the hour of the wall clock stays": (
        "0 9 * * *", "2099-10-24T12:00:00Z", ["2099-10-25T08:00:00Z", "2099-10-26T08:00:00Z"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAYLIGHT_SAVING)
def test_cron_entries_across_a_change_of_the_clock(call: Call, tmp_path: Path, name: str) -> None:
    cron, start, times = DAYLIGHT_SAVING[name]
    call("schedule_create", what="x", cron=cron, time_zone="Europe/Berlin")
    with closing(sqlite3.connect(tmp_path / "schedule.sqlite")) as store, store:
        store.execute("UPDATE entries SET at = ?", (start,))
    assert due(call, start) == [(start, 0)]
    for each in times:
        assert due(call, each, "schedule_due") == [(each, 0)]
        assert due(call, each) == [(each, 0)]
        assert due(call, each) == []


def test_an_interval_follows_the_elapsed_time_across_a_change_of_the_clock(call: Call) -> None:
    call("schedule_create", what="x", at="2099-10-24T09:00:00", every="1d", time_zone="Europe/Berlin")
    for each in ("2099-10-24T07:00:00Z", "2099-10-25T07:00:00Z", "2099-10-26T07:00:00Z"):
        assert due(call, each) == [(each, 0)]


def test_a_local_time_that_occurs_twice_is_the_first_one(call: Call) -> None:
    entry = data_of(call("schedule_create", what="x", at="2099-10-25T02:30:00", time_zone="Europe/Berlin"))
    assert entry["at"] == "2099-10-25T00:30:00Z"


def test_an_interval_beyond_the_last_time_has_one_run(call: Call) -> None:
    call("schedule_create", what="x", at="2099-03-01T08:00:00Z", every="900000w")
    assert due(call, "2099-03-01T08:00:00Z") == [("2099-03-01T08:00:00Z", 0)]
    assert [each["at"] for each in entries_of(call("schedule_list", done=True))] == [None]


@pytest.mark.parametrize(
    "change",
    [
        "at = '2099'",
        "every = '5x'",
        "every = NULL, cron = '* *'",
        "arguments = '{'",
        "arguments = '[1]'",
        "arguments = x'ff'",
    ],
)
def test_an_entry_that_another_program_damaged_is_named(call: Call, tmp_path: Path, change: str) -> None:
    call("schedule_create", what="x", at="2099-03-01T08:00:00Z", every="1d")
    call("schedule_create", what="y", at="2099-03-01T08:00:00Z")
    with closing(sqlite3.connect(tmp_path / "schedule.sqlite")) as store, store:
        store.execute(f"UPDATE entries SET {change} WHERE id = 1")
    assert call("schedule_take", now="2099-03-01T08:00:00Z") == "file"
    assert data_of(call("schedule_delete", id=1))["id"] == 1
    assert due(call, "2099-03-01T08:00:00Z") == [("2099-03-01T08:00:00Z", 0)]


def test_missed_runs_are_one_run(call: Call) -> None:
    call("schedule_create", what="weekly", at="2099-03-01T08:00:00Z", every="1w")
    call("schedule_create", what="once", at="2099-03-01T08:00:00Z")
    assert due(call, "2099-03-01T07:59:59Z") == []
    assert due(call, "2099-03-23T08:00:00Z") == [("2099-03-01T08:00:00Z", 3), ("2099-03-01T08:00:00Z", 0)]
    assert due(call, "2099-03-23T08:00:00Z") == []
    assert [each["at"] for each in entries_of(call("schedule_list"))] == ["2099-03-29T08:00:00Z"]
    done = entries_of(call("schedule_list", done=True))
    assert [(each["what"], each["at"]) for each in done] == [("once", None)]


def test_a_cron_entry_that_missed_very_many_runs_goes_on(call: Call, tmp_path: Path) -> None:
    call("schedule_create", what="x", cron="* * * * *")
    with closing(sqlite3.connect(tmp_path / "schedule.sqlite")) as store, store:
        store.execute("UPDATE entries SET at = '2020-01-01T00:00:00Z'")
    assert due(call, "2099-03-01T08:00:30Z") == [("2020-01-01T00:00:00Z", 1000)]
    assert due(call, "2099-03-01T08:01:00Z") == [("2099-03-01T08:01:00Z", 0)]


STORED: dict[str, tuple[str, JsonObject, str, JsonObject]] = {
    "schedule": ("schedule_create", {"what": "x" * 2000, "at": "2099-03-01T08:00:00Z"}, "schedule_list", {}),
    "knowledge": ("remember", {"text": "x " * 2000}, "knowledge_search", {"query": "x"}),
}
"""Each store with a call that writes to it, and one that reads it."""


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("PRAGMA user_version = 2", "is of a newer toolc (version 2, expected 1); it was not changed"),
        ("PRAGMA user_version = 0", "is of an older toolc (version 0, expected 1); it was not changed"),
        ("PRAGMA application_id = 7", "belongs to another program; move it away. It was not changed"),
        (None, "it is damaged and was not changed; move it away, or try: sqlite3 NAME .recover"),
    ],
)
def test_a_store_that_cannot_be_used_is_not_changed(
    engine: OciEngine, tmp_path: Path, name: str, change: str | None, message: str
) -> None:
    file = tmp_path / f"{name}.sqlite"
    write, content, read, arguments = STORED[name]
    with Executor(Registry.load(SPECS / f"{name}.yaml"), workspace=tmp_path, engine=engine) as executor:
        assert executor.run(write, content).error is None
        if change:
            with closing(sqlite3.connect(file)) as store, store:
                store.execute(change)
        else:
            file.write_bytes(file.read_bytes()[:4096] + b"\xff" * 4096)
        before = file.read_bytes()
        for result in (executor.run(read, arguments), executor.run(write, content)):
            kind, said = failed(result)
            assert (kind, message.replace("NAME", file.name) in said) == ("file", True)
    assert file.read_bytes() == before


def test_a_database_is_created_filled_and_queried(call: Call, tmp_path: Path) -> None:
    path = "shop.sqlite"
    call("database_execute", path=path, query="CREATE TABLE users (name TEXT UNIQUE, age INTEGER)")
    insert = "INSERT INTO users VALUES (?, ?), (?, ?)"
    added = call("database_execute", path=path, query=insert, params=["Ada", 36, "Bob'); DROP TABLE users; --", 20])
    assert added == {"changed_rows": 2, "last_row_id": 2, "columns": [], "rows": [], "truncated": False}
    older = call("database_query", path=path, query="SELECT * FROM users WHERE age > ?", params=[25])
    assert older == {"columns": ["name", "age"], "rows": [["Ada", 36]], "truncated": False}
    grown = "UPDATE users SET age = age + $1 RETURNING name, age"
    assert call("database_execute", path=path, query=grown, params=[1], max_rows=1) == {
        "changed_rows": 2, "last_row_id": 0, "columns": ["name", "age"], "rows": [["Ada", 37]], "truncated": True,
    }  # fmt: skip
    assert call("database_execute", path=path, query="-- first\nbegin") == "invalid_args", "it would end with the call"
    refused = call("database_execute", path=path, query=insert, params=["Cy", 1, "Ada", 2])
    assert refused == "invalid_args", "and no row of it was added"
    with closing(sqlite3.connect(tmp_path / path)) as database:
        assert database.execute("SELECT count(*) FROM users").fetchone() == (2,)


SQLITE_TYPES: dict[str, JsonValue] = {
    "9007199254740993": 9007199254740993,
    "-9223372036854775808": -9223372036854775808,
    "1.5": 1.5,
    "9e999": "Infinity",
    "-9e999": "-Infinity",
    "'größe'": "größe",
    "CAST(x'ff41' AS TEXT)": "\N{REPLACEMENT CHARACTER}A",
    "x'00ff'": "AP8=",
    "NULL": None,
    "TRUE": 1,
    "date('2026-03-01')": "2026-03-01",
    "json('[1]')": "[1]",
}


def test_every_storage_class_has_a_json_value(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").touch()
    (row,) = data_of(call("database_query", path="a.sqlite", query=f"SELECT {', '.join(SQLITE_TYPES)}"))["rows"]
    assert dict(zip(SQLITE_TYPES, row, strict=True)) == SQLITE_TYPES


@pytest.mark.parametrize(
    ("path", "kind"), [(".", "not_found"), ("a\0b", "invalid_args"), ("/workspace/a.sqlite", None), ("..", "denied")]
)
def test_paths_of_a_database_are_checked(call: Call, tmp_path: Path, path: str, kind: str | None) -> None:
    (tmp_path / "a.sqlite").touch()
    found = call("database_query", path=path, query="SELECT 1")
    assert found == kind if kind else isinstance(found, dict)


@pytest.mark.parametrize("query", ["DELETE FROM users", "PRAGMA user_version = 3", "ATTACH 'other.sqlite' AS o"])
def test_a_query_changes_nothing(call: Call, tmp_path: Path, query: str) -> None:
    call("database_execute", path="a.sqlite", query="CREATE TABLE users (name)")
    before = (tmp_path / "a.sqlite").read_bytes()
    call("database_query", path="a.sqlite", query=query)
    assert (tmp_path / "a.sqlite").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.sqlite"]


def test_large_results_of_a_database_are_cut(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").touch()
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) SELECT i FROM n"
    many = call("database_query", path="a.sqlite", query=numbers, max_rows=2)
    assert many == {"columns": ["i"], "rows": [[1], [2]], "truncated": True}
    wide = call(
        "database_query", path="a.sqlite", query=numbers.replace("SELECT i FROM", "SELECT hex(zeroblob(5000)) FROM")
    )
    assert isinstance(wide, dict)
    assert isinstance(wide["rows"], list)
    assert (len(wide["rows"]), wide["truncated"]) == (39, True)


def test_an_endless_statement_is_stopped(engine: OciEngine, tmp_path: Path) -> None:
    for name in ("database.yaml", "database.py", "files.py", "store.py"):
        code = (SPECS / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(code.replace("STATEMENT_SECONDS = 15", "STATEMENT_SECONDS = 1"), encoding="utf-8")
    (tmp_path / "a.sqlite").touch()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with Executor(Registry.load(tmp_path / "database.yaml"), workspace=tmp_path, engine=engine) as executor:
        result = executor.run("database_query", {"path": "a.sqlite", "query": endless})
    assert failed(result) == ("timeout", "the statement took longer than 1 s and was stopped; ask for less")


def test_a_database_in_wal_mode_can_be_queried(call: Call, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE t AS SELECT 1 AS n")
        database.commit()
        assert call("database_query", path="a.sqlite", query="SELECT n FROM t") == {
            "columns": ["n"], "rows": [[1]], "truncated": False,
        }  # fmt: skip
    assert not (tmp_path / "a.sqlite-wal").exists()
    assert isinstance(call("database_query", path="a.sqlite", query="SELECT n FROM t"), dict)


def test_a_database_that_another_process_changes_is_a_conflict(call: Call, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)) as database:
        database.execute("CREATE TABLE t (n)")
        database.execute("BEGIN EXCLUSIVE")
        assert call("database_execute", path="a.sqlite", query="INSERT INTO t VALUES (1)") == "conflict"


INTERRUPTED = """\
import os, sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None)
store.execute("PRAGMA cache_size = 1")
store.execute("BEGIN IMMEDIATE")
for number in range(200):
    store.execute("INSERT INTO facts (text, topic, tags, remembered) VALUES (?, '', '[]', '')", ("x" * 3000,))
os.kill(os.getpid(), 9)
"""


def test_a_change_that_was_killed_is_undone_by_the_next_one(call: Call, tmp_path: Path) -> None:
    call("remember", text=FACTS[0])
    file = tmp_path / "knowledge.sqlite"
    subprocess.run([sys.executable, "-c", INTERRUPTED, str(file)], check=False)
    assert file.with_name("knowledge.sqlite-journal").stat().st_size > 0
    assert ids(call("knowledge_search", query="tea")) == [1], "a call that only reads reads a restored copy"
    assert call("database_query", path="knowledge.sqlite", query="SELECT count(*) FROM facts") == "file"
    assert call("remember", text=FACTS[1]) == {"id": 2, "new": True}
    assert ids(call("knowledge_search", query="tea")) == [1]
