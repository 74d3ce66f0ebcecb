import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest
from paths import SPECS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.json_schema import JsonValue
from toolc.sandbox.oci.engine import OciEngine

Call: TypeAlias = Callable[..., JsonValue]
"""Calls a tool in the test's workspace: its data, or the kind of its error."""


@pytest.fixture
def call(engine: OciEngine, tmp_path: Path) -> Iterator[Call]:
    registry = Registry()
    for name in ("database", "knowledge", "schedule"):
        registry.add(Registry.load(SPECS / f"{name}.yaml"))
    with Executor(registry, workspace=tmp_path, engine=engine) as executor:

        def call(name: str, **arguments: JsonValue) -> JsonValue:
            result = executor.run(name, arguments)
            return result.error.kind if result.error else result.data

        yield call


def test_notes_are_found_by_words_best_first(call: Call) -> None:
    facts = ("Ada prefers tea to coffee.", "The office closes at six.", "Coffee is in the kitchen; tea is too.")
    assert [call("remember", text=fact) for fact in facts] == [{"id": n, "new": True} for n in (1, 2, 3)]
    assert call("remember", text=facts[1]) == {"id": 2, "new": False}

    def found(query: str, limit: int = 5) -> list[JsonValue]:
        data = call("knowledge_search", query=query, limit=limit)
        assert isinstance(data, dict)
        assert isinstance(data["results"], list)
        return [each["id"] for each in data["results"] if isinstance(each, dict)]

    assert found("when do the offices close?")[0] == 2
    assert found("preferring tea") == [1, 3]
    assert found("tea", limit=1) == [1]
    assert found("AND OR NOT NEAR( * \"'") == []
    assert found("?!") == []


def test_a_plan_is_created_changed_listed_and_cancelled(call: Call) -> None:
    late = call("schedule_create", what="Call Ada", at="2026-03-01T09:00:00+01:00", repeat="weekly")
    early = call("schedule_create", what="Pack", at="2026-03-01T07:30:00Z")
    assert call("schedule_list") == {"entries": [early, late]}
    assert call("schedule_list", after="2026-03-01T08:00:00Z") == {"entries": [late]}
    assert call("schedule_list", before="2026-03-01T08:00:00Z") == {"entries": [early]}
    moved = {"id": 1, "what": "Call Ada", "at": "2026-02-28T23:00:00Z", "repeat": "weekly"}
    assert call("schedule_update", id=1, at="2026-02-28T18:00:00-05:00") == moved
    assert call("schedule_list", limit=1) == {"entries": [moved]}
    assert call("schedule_delete", id=1) == moved
    assert call("schedule_delete", id=1) == "not_found"
    assert call("schedule_list") == {"entries": [early]}


def test_a_database_is_created_filled_and_queried(call: Call, tmp_path: Path) -> None:
    path = "shop.sqlite"
    call("database_execute", path=path, query="CREATE TABLE users (name TEXT UNIQUE, age INTEGER)")
    insert = "INSERT INTO users VALUES (?, ?), (?, ?)"
    added = call("database_execute", path=path, query=insert, params=["Ada", 36, "Bob'); DROP TABLE users; --", 20])
    assert added == {"changed_rows": 2, "last_row_id": 2}
    older = call("database_query", path=path, query="SELECT * FROM users WHERE age > ?", params=[25])
    assert older == {"columns": ["name", "age"], "rows": [["Ada", 36]], "truncated": False}
    failed = call("database_execute", path=path, query=insert, params=["Cy", 1, "Ada", 2])
    assert failed == "invalid_args", "and no row of it was added"
    with closing(sqlite3.connect(tmp_path / path)) as database:
        assert database.execute("SELECT count(*) FROM users").fetchone() == (2,)


@pytest.mark.parametrize("query", ["DELETE FROM users", "PRAGMA user_version = 3", "ATTACH 'other.sqlite' AS o"])
def test_a_query_changes_nothing(call: Call, tmp_path: Path, query: str) -> None:
    call("database_execute", path="a.sqlite", query="CREATE TABLE users (name)")
    before = (tmp_path / "a.sqlite").read_bytes()
    call("database_query", path="a.sqlite", query=query)
    assert (tmp_path / "a.sqlite").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.sqlite"]
