"""The tools of database.yaml: SQL on a SQLite file in the workspace, one statement per call."""

import json
import math
import re
import sqlite3
import time
from contextlib import closing

from files import inside
from store import has_shared_locks, locked, unchanged

STATEMENT_SECONDS = 15
"""A statement is stopped after this time, which is before the limit of the sandbox."""
MAX_VALUE = 20_000
"""The maximum length of one value, in characters or bytes; the rest of it is cut."""
MAX_BYTES = 400_000
"""The maximum size of all rows as JSON."""
QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|\[[^]]*\]|--[^\n]*|/\*.*?\*/""", re.DOTALL)
OF_TRANSACTIONS = re.compile(r"\s*(BEGIN|COMMIT|END|RELEASE|ROLLBACK|SAVEPOINT)\b", re.IGNORECASE)
STEPS = 10_000
"""How many steps SQLite makes between two checks of the time."""


def database_query(path, query, params, max_rows, ctx):
    """Return the rows of a statement, as lists in the order of ``columns``."""
    real = inside(path, ctx)
    if not real.is_file():
        raise ctx.error("not_found", f"there is no file {path!r} in the workspace")

    def rows():
        with closing(opened(real, "ro")) as database:
            return rows_of(database.execute(query, bound(query, params)), max_rows)

    try:
        return rows() if has_shared_locks() else unchanged(real, rows, ctx)
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        raise explained(error, path, ctx, "ro") from None


def database_execute(path, query, params, max_rows, ctx):
    """Return how many rows a statement changed, and the rows that it returns. All of it is done, or nothing."""
    real = inside(path, ctx)
    if OF_TRANSACTIONS.match(QUOTED.sub("", query)):
        message = "each call is a transaction of its own, so BEGIN, COMMIT and ROLLBACK have no effect on other calls"
        raise ctx.error("invalid_args", message)
    try:
        with locked(real, ctx), closing(opened(real, "rwc")) as database, database:
            done = database.execute(query, bound(query, params))
            result = rows_of(done, max_rows)
            for _ in done:
                pass  # SQLite changes a row when it returns it
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        raise explained(error, path, ctx, "rwc") from None
    return {"changed_rows": max(0, done.rowcount), "last_row_id": done.lastrowid, **result}


def bound(query, params):
    """Return parameters by position for ``?``, by name for ``$1``, which SQLite would number by its first use."""
    if re.search(r"\$[0-9]", QUOTED.sub("", query)):
        return {str(number): value for number, value in enumerate(params, 1)}
    return params


def rows_of(found, max_rows):
    """Return the columns and the first rows. ``truncated`` says that rows are missing or a value is cut."""
    rows, size, is_cut = [], 0, False
    for row in found:
        values = [shown(value) for value in row]
        size += len(json.dumps([value for value, _ in values], default=str))
        if len(rows) == max_rows or size > MAX_BYTES:
            is_cut = True
            break
        rows.append([value for value, _ in values])
        is_cut = is_cut or any(cut for _, cut in values)
    return {"columns": [column[0] for column in found.description or ()], "rows": rows, "truncated": is_cut}


def shown(value):
    """Return a value that has a JSON form in toolc (bytes are base64), and whether it is cut."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{'-' if value < 0 else ''}Infinity", False
    is_cut = isinstance(value, (str, bytes)) and len(value) > MAX_VALUE
    return (value[:MAX_VALUE] if is_cut else value), is_cut


def opened(real, mode):
    log = real.with_name(f"{real.name}-wal")
    has_log = log.exists() and log.stat().st_size
    # SQLite would want to create the index of a log, and the folder is read-only. Locks may have no effect.
    is_immutable = mode == "ro" and not has_log and (is_in_wal_mode(real) or not has_shared_locks())
    immutable = "&immutable=1" if is_immutable else ""
    database = sqlite3.connect(f"{real.as_uri()}?mode={mode}{immutable}", uri=True, timeout=5)
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    end = time.monotonic() + STATEMENT_SECONDS
    database.set_progress_handler(lambda: time.monotonic() > end, STEPS)
    return database


def is_in_wal_mode(real):
    with real.open("rb") as file:
        return file.read(20)[18:20] == b"\2\2"


def explained(error, path, ctx, mode):
    """Return the error for the model: the message of SQLite, with its kind."""
    words = str(error)
    if words == "interrupted":
        message = f"the statement took longer than {STATEMENT_SECONDS} s and was stopped; ask for less"
        return ctx.error("timeout", message)
    if getattr(error, "sqlite_errorname", "") in ("SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY"):
        hint = "a change was interrupted; the next call of database_execute repairs the file"
        return ctx.error("file", f"{path}: {hint}")
    if "readonly" in words:
        is_query = "database_query is read-only, database_execute changes data"
        return ctx.error("denied", f"{words}: {is_query if mode == 'ro' else 'the file cannot be written'}")
    if "locked" in words:
        return ctx.error("conflict", f"{path}: {words}: another call is changing it; try again")
    if "no such table" in words or re.search(r'near "(\.|DESC|DESCRIBE|SHOW)"', words, re.IGNORECASE):
        words += "; SELECT name, sql FROM sqlite_master lists the tables"
    elif 'near "%"' in words:
        words += "; parameters are written $1, $2 and so on"
    kind = "file" if isinstance(error, sqlite3.OperationalError) and "unable to open" in words else "invalid_args"
    return ctx.error(kind, f"{path}: {words}")
