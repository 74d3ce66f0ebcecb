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
CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
"""Text without spaces between its words, which the index has as one word. It is found by pairs of characters."""
# The more words, the better; then a word in the topic or the tags counts more than one in the text.
BEST = """
    WITH found AS MATERIALIZED (
        SELECT words.rowid AS fact, -bm25(words, 1.0, 2.0, 2.0) AS rank
        FROM json_each(:words) AS word JOIN words ON words MATCH word.value
        UNION ALL
        SELECT facts.id, 0 FROM facts, json_each(:pairs) AS pair WHERE instr(text || topic || tags, pair.value)
    )
    SELECT facts.*, count(*) AS score FROM found JOIN facts ON facts.id = found.fact
    WHERE :topic IS NULL OR topic = :topic GROUP BY facts.id ORDER BY count(*) DESC, sum(rank) DESC, facts.id
"""
OLD = """
    SELECT * FROM facts WHERE (:before IS NULL OR remembered < :before)
    AND NOT EXISTS (
        SELECT 1 FROM json_each(:words) AS word
        WHERE facts.id NOT IN (SELECT rowid FROM words WHERE words MATCH word.value)
    )
    AND NOT EXISTS (SELECT 1 FROM json_each(:pairs) AS pair WHERE NOT instr(text || topic || tags, pair.value))
    ORDER BY remembered, facts.id
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
    with STORE.reading(ctx) as store:
        found = [] if store is None else best_first(store, query, topic)
        return {"results": [fact for fact in found if {*tags} <= {*fact["tags"]}][:limit]}


def best_first(store, query, topic=None):
    """Return the facts that have words of ``query``, each with the share of the words that it has as ``score``."""
    words, pairs = parts_of(query)
    rows = store.execute(BEST, {"words": stored(words), "pairs": stored(pairs), "topic": topic or None})
    count = len(words) + len(pairs)
    return [{**as_fact(row), "score": round(row["score"] / count, 4)} for row in rows]


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
    words, pairs = parts_of(query or "")
    if query is not None and not words and not pairs:
        return []
    rows = store.execute(OLD, {"before": before, "words": stored(words), "pairs": stored(pairs)})
    return [fact for fact in map(as_fact, rows) if {*(tags or ())} <= {*fact["tags"]}]


def stored(tags):
    """Return the column ``tags``. Letters are not escaped, because its words are found by a search."""
    return json.dumps(sorted({*tags}), ensure_ascii=False)


def parts_of(query):
    """Return the words of a query in quotes, which are never operators of the query language, and pairs of CJK."""
    runs = CJK.findall(query)
    pairs = {run[start : start + 2] for run in runs for start in range(max(1, len(run) - 1))}
    return {f'"{word}"' for word in re.findall(r"\w+", CJK.sub(" ", query))}, pairs


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
    return {**dict(row), "tags": json.loads(row["tags"])}


def fact_of(store, number, ctx):
    row = store.execute("SELECT * FROM facts WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise ctx.error("not_found", f"there is no fact {number}; knowledge_search shows the ids")
    return as_fact(row)
