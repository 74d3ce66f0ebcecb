"""The tools of database.yaml: SQL on a SQLite file of the workspace."""

import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path

WORKSPACE = Path("/workspace")
SHOWN_BYTES = 64


def database_query(path, query, params, max_rows, ctx):
    """The rows that a statement gives, as lists in the order of ``columns``."""
    with closing(_opened(path, "ro", ctx)) as database:
        try:
            found = database.execute(query, params)
            rows = [[_shown(value) for value in row] for row in islice(found, max_rows + 1)]
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            raise _explained(error, path, ctx) from None
    columns = [column[0] for column in found.description or ()]
    return {"columns": columns, "rows": rows[:max_rows], "truncated": len(rows) > max_rows}


def database_execute(path, query, params, ctx):
    """How many rows a statement changed; all of it or nothing is done."""
    with closing(_opened(path, "rwc", ctx)) as database:
        try:
            with database:
                done = database.execute(query, params)
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            raise _explained(error, path, ctx) from None
    return {"changed_rows": max(0, done.rowcount), "last_row_id": done.lastrowid}


def _opened(path, mode, ctx):
    real = (WORKSPACE / path).resolve()
    if WORKSPACE not in real.parents:
        raise ctx.error("denied", f"{path!r} is outside the workspace; give a path relative to it")
    if mode == "ro" and not real.is_file():
        raise ctx.error("not_found", f"there is no file {path!r} in the workspace")
    try:
        return sqlite3.connect(f"{real.as_uri()}?mode={mode}", uri=True, timeout=5)
    except sqlite3.Error as error:
        raise _explained(error, path, ctx) from None


def _explained(error, path, ctx):
    words = str(error)
    if "readonly" in words:
        return ctx.error("denied", f"{words}: database_query only reads, database_execute writes")
    kind = "file" if isinstance(error, sqlite3.OperationalError) and "unable to open" in words else "invalid_args"
    return ctx.error(kind, f"{path}: {words}")


def _shown(value):
    if isinstance(value, bytes):
        more = "..." if len(value) > SHOWN_BYTES else ""
        return f"x'{value[:SHOWN_BYTES].hex()}{more}' ({len(value)} bytes)"
    return value
