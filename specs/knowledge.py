"""The tools of knowledge.yaml: facts in a SQLite file of the workspace, found by their words."""

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

STORE = Path("/workspace/knowledge.sqlite")
TABLE = """
    CREATE VIRTUAL TABLE IF NOT EXISTS facts
    USING fts5(text, topic, remembered UNINDEXED, tokenize = 'porter unicode61 remove_diacritics 2')
"""
BEST = """
    SELECT rowid AS id, text, topic, remembered FROM facts WHERE facts MATCH ? ORDER BY rank, rowid LIMIT ?
"""


def remember(text, topic, ctx):
    """Keep a fact; one that is kept already is not kept twice."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        with closing(sqlite3.connect(STORE, timeout=5)) as store, store:
            store.execute("BEGIN IMMEDIATE")
            store.execute(TABLE)
            same = store.execute("SELECT rowid FROM facts WHERE text = ? AND topic = ?", (text, topic))
            if known := same.fetchone():
                return {"id": known[0], "new": False}
            added = store.execute("INSERT INTO facts VALUES (?, ?, ?)", (text, topic, now))
            return {"id": added.lastrowid, "new": True}
    except sqlite3.Error as error:
        raise ctx.error("file", f"knowledge.sqlite: {error}") from None


def knowledge_search(query, limit, ctx):
    """The facts that share words with ``query``, the best first."""
    words = re.findall(r"\w+", query)
    if not words or not STORE.exists():
        return {"results": []}
    try:
        with closing(sqlite3.connect(f"{STORE.as_uri()}?mode=ro", uri=True, timeout=5)) as store:
            store.row_factory = sqlite3.Row
            # Each word in quotes is a word, and never an operator of the query language.
            found = store.execute(BEST, (" OR ".join(f'"{word}"' for word in words), limit))
            return {"results": [dict(row) for row in found]}
    except sqlite3.Error as error:
        raise ctx.error("file", f"knowledge.sqlite: {error}") from None
