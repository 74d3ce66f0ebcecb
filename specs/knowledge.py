"""The tools of knowledge.yaml: facts in a SQLite file in the workspace, found by their words."""

import json
import re
from datetime import UTC, datetime, timedelta

from store import Store

STORE = Store("knowledge.sqlite", 0x746C_6B6E, 1, [
    """CREATE TABLE facts (
        id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, topic TEXT NOT NULL, tags TEXT NOT NULL,
        remembered TEXT NOT NULL
    )""",
    """CREATE VIRTUAL TABLE words USING fts5(
        text, topic, tags, content = 'facts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
    )""",
    """CREATE TRIGGER added AFTER INSERT ON facts BEGIN
        INSERT INTO words (rowid, text, topic, tags) VALUES (new.id, new.text, new.topic, new.tags);
    END""",
    """CREATE TRIGGER removed AFTER DELETE ON facts BEGIN
        INSERT INTO words (words, rowid, text, topic, tags) VALUES ('delete', old.id, old.text, old.topic, old.tags);
    END""",
    """CREATE TRIGGER changed AFTER UPDATE ON facts BEGIN
        INSERT INTO words (words, rowid, text, topic, tags) VALUES ('delete', old.id, old.text, old.topic, old.tags);
        INSERT INTO words (rowid, text, topic, tags) VALUES (new.id, new.text, new.topic, new.tags);
    END""",
])  # fmt: skip
# A word in the topic or the tags counts more than one in the text.
BEST = """
    WITH found AS MATERIALIZED (SELECT rowid, -bm25(words, 1.0, 2.0, 2.0) AS score FROM words WHERE words MATCH ?)
    SELECT facts.*, score FROM found JOIN facts ON facts.id = found.rowid
    WHERE ? IS NULL OR topic = ? ORDER BY score DESC, facts.id
"""
DAYS = {"d": 1, "w": 7, "mo": 30, "y": 365}
MAX_DAYS = 365 * 1000
"""A greater age has no date, and no fact is so old."""
MAX_SHOWN = 50


def remember(text, topic, tags, ctx):
    """Store a fact. One that is stored already gets the new tags too."""
    with STORE.changing(ctx) as store:
        known = store.execute("SELECT * FROM facts WHERE text = ? AND topic = ?", (text, topic)).fetchone()
        if known:
            merged = sorted({*json.loads(known["tags"]), *tags})
            if merged != json.loads(known["tags"]):
                store.execute("UPDATE facts SET tags = ? WHERE id = ?", (stored(merged), known["id"]))
            return {"id": known["id"], "new": False}
        values = (text, topic, stored(tags), now())
        added = store.execute("INSERT INTO facts (text, topic, tags, remembered) VALUES (?, ?, ?, ?)", values)
        return {"id": added.lastrowid, "new": True}


def knowledge_search(query, limit, tags, ctx, topic=None):
    """Return the facts that share words with ``query``, the best match first."""
    wanted, topic = words_of(query, " OR "), topic or None
    with STORE.reading(ctx) as store:
        if store is None or not wanted:
            return {"results": []}
        found = (as_fact(row) for row in store.execute(BEST, (wanted, topic, topic)))
        return {"results": [fact for fact in found if {*tags} <= {*fact["tags"]}][:limit]}


def knowledge_update(id, ctx, text=None, topic=None, tags=None):  # noqa: A002  its name for models
    """Change a fact and return it. What is not given stays."""
    if text is None and topic is None and tags is None:
        raise ctx.error("invalid_args", "there is nothing to change; give at least one of text, topic and tags")
    with STORE.changing(ctx) as store:
        before = fact_of(store, id, ctx)
        values = (
            text or before["text"], before["topic"] if topic is None else topic,
            stored(before["tags"] if tags is None else tags), now(), id,
        )  # fmt: skip
        store.execute("UPDATE facts SET text = ?, topic = ?, tags = ?, remembered = ? WHERE id = ?", values)
        return fact_of(store, id, ctx)


def forget(ctx, ids=None, older_than=None, query=None, tags=None, expected_count=None):
    """Remove facts by id, or those that match if their number is as expected; without a number, only return them."""
    tags = tags or None  # every fact has all of no tags
    if (ids is None) == (older_than is None and query is None and tags is None):
        raise ctx.error("invalid_args", "give either ids, or one or more of older_than, query and tags")
    before = None if older_than is None else age(older_than, ctx)
    if ids is None and expected_count is None:
        with STORE.reading(ctx) as store:
            found = [] if store is None else matching(store, before, query, tags)
        return {"removed": 0, "matching": len(found), "facts": found[:MAX_SHOWN]}
    with STORE.changing(ctx) as store:
        if ids is not None:
            found = [fact_of(store, number, ctx) for number in dict.fromkeys(ids)]
        else:
            found = matching(store, before, query, tags)
        if expected_count not in (None, len(found)):
            hint = "; nothing was removed" + (". Call it without expected_count to see them" if ids is None else "")
            raise ctx.error("invalid_args", f"{len(found)} facts match, not {expected_count}{hint}")
        store.executemany("DELETE FROM facts WHERE id = ?", [(fact["id"],) for fact in found])
    return {"removed": len(found), "matching": len(found), "facts": found[:MAX_SHOWN]}


def matching(store, before, query, tags):
    """Return the facts with all words of ``query`` and all ``tags`` that are older than a time, the oldest first."""
    wanted = None if query is None else words_of(query, " AND ")
    if wanted == "":
        return []
    rows = store.execute(
        "SELECT * FROM facts WHERE (? IS NULL OR remembered < ?) "
        "AND (? IS NULL OR id IN (SELECT rowid FROM words WHERE words MATCH ?)) ORDER BY remembered, id",
        (before, before, wanted, wanted or '""'),
    )
    return [fact for fact in map(as_fact, rows) if {*(tags or ())} <= {*fact["tags"]}]


def stored(tags):
    """Return the column ``tags``. Letters are not escaped, because its words are found by a search."""
    return json.dumps(sorted({*tags}), ensure_ascii=False)


def words_of(query, operator):
    # Each word in quotes is a word, and never an operator of the query language.
    return operator.join(f'"{word}"' for word in re.findall(r"\w+", query))


def age(text, ctx):
    """Return the time before which a fact is older than ``text``."""
    found = re.fullmatch("([1-9][0-9]{0,3})(d|w|mo|y)", text)
    if not found:
        message = f"older_than: {text!r} is not an age such as 30d, 8w, 6mo or 1y"
        hint = "; m can be minutes or months: write mo for months" if text[-1:] == "m" else ""
        raise ctx.error("invalid_args", message + hint)
    days = int(found[1]) * DAYS[found[2]]
    return text_of(datetime.now(UTC) - timedelta(days=min(days, MAX_DAYS)))


def now():
    return text_of(datetime.now(UTC))


def text_of(time):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def as_fact(row):
    fact = {**dict(row), "tags": json.loads(row["tags"])}
    if "score" in fact:
        fact["score"] = round(fact["score"], 4)
    return fact


def fact_of(store, number, ctx):
    row = store.execute("SELECT * FROM facts WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise ctx.error("not_found", f"there is no fact {number}; knowledge_search shows the ids")
    return as_fact(row)
