"""SQLite files as a call leaves them that is killed in the middle of a change."""

import sqlite3
from contextlib import closing
from pathlib import Path


def interrupt(path: Path, change: str) -> None:
    """Write a part of a change, and leave the file with its journal. The change must be larger than two pages."""
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute("PRAGMA cache_size = 2")
        store.execute("BEGIN IMMEDIATE")
        store.execute(change)
        left = {each: each.read_bytes() for each in (path, path.with_name(f"{path.name}-journal"))}
        store.execute("ROLLBACK")
    for each, data in left.items():
        each.write_bytes(data)
