"""The tools of schedule.yaml: what is to be done and when, in a SQLite file of the workspace."""

import sqlite3
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

STORE = Path("/workspace/schedule.sqlite")
TABLE = """
    CREATE TABLE IF NOT EXISTS entries
    (id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT NOT NULL, at TEXT NOT NULL, repeat TEXT NOT NULL)
"""


def schedule_create(what, at, repeat, ctx):
    """The new entry, its time in UTC."""
    row = (what, _utc(at, "at", ctx), repeat)
    with _changing(ctx) as store:
        made = store.execute("INSERT INTO entries (what, at, repeat) VALUES (?, ?, ?)", row)
        return _entry(store, made.lastrowid, ctx)


def schedule_list(limit, ctx, after=None, before=None):
    """The entries from a time on and up to another, in the order of their times."""
    # Text in UTC and of one length sorts as the times do.
    first = "" if after is None else _utc(after, "after", ctx)
    last = "9999" if before is None else _utc(before, "before", ctx)
    if not STORE.exists():
        return {"entries": []}
    try:
        with closing(_connected("ro")) as store:
            found = store.execute(
                "SELECT * FROM entries WHERE at >= ? AND at < ? ORDER BY at, id LIMIT ?", (first, last, limit)
            )
            return {"entries": [dict(row) for row in found]}
    except sqlite3.Error as error:
        raise ctx.error("file", f"schedule.sqlite: {error}") from None


def schedule_update(id, ctx, what=None, at=None, repeat=None):  # noqa: A002  the model knows it by this name
    """The entry as it is afterwards; what is not given stays."""
    moved = None if at is None else _utc(at, "at", ctx)
    if what is None and at is None and repeat is None:
        raise ctx.error("invalid_args", "nothing is to change; give at least one of what, at and repeat")
    with _changing(ctx) as store:
        before = _entry(store, id, ctx)
        row = (what or before["what"], moved or before["at"], repeat or before["repeat"], id)
        store.execute("UPDATE entries SET what = ?, at = ?, repeat = ? WHERE id = ?", row)
        return _entry(store, id, ctx)


def schedule_delete(id, ctx):  # noqa: A002  as above
    """The entry that is no more."""
    with _changing(ctx) as store:
        entry = _entry(store, id, ctx)
        store.execute("DELETE FROM entries WHERE id = ?", (id,))
        return entry


def _utc(text, name, ctx):
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00").replace("z", "+00:00"))
        if time.tzinfo is None:
            raise ValueError("it has no offset from UTC")
        return (time - time.utcoffset()).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError) as error:
        message = f"{name}: {text!r} is no time such as '2026-03-01T09:00:00+01:00': {error}"
        raise ctx.error("invalid_args", message) from None


def _connected(mode):
    store = sqlite3.connect(f"{STORE.as_uri()}?mode={mode}", uri=True, timeout=5)
    store.row_factory = sqlite3.Row
    return store


@contextmanager
def _changing(ctx):
    try:
        with closing(_connected("rwc")) as store, store:
            store.execute("BEGIN IMMEDIATE")
            store.execute(TABLE)
            yield store
    except sqlite3.Error as error:
        raise ctx.error("file", f"schedule.sqlite: {error}") from None


def _entry(store, number, ctx):
    found = store.execute("SELECT * FROM entries WHERE id = ?", (number,)).fetchone()
    if found is None:
        raise ctx.error("not_found", f"there is no entry {number} in the schedule; see schedule_list")
    return dict(found)
