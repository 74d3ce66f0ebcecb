"""The tools of postgres.yaml: SQL on a PostgreSQL server, one statement per call.

libpq reads the address from the environment: PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD and PGSSLMODE.
"""

import ctypes
import ipaddress
import json
import math
import os
import re
import select
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.types.datetime import DateLoader, TimeLoader, TimestampLoader, TimestamptzLoader
from psycopg.types.multirange import Multirange
from psycopg.types.range import Range
from psycopg.types.string import TextLoader

CONNECT_SECONDS = 10
STATEMENT_SECONDS = 20
"""The server cancels a statement after this time, which is before the limit of the sandbox."""
MAX_VALUE = 20_000
"""The maximum length of one value, in characters or bytes; the rest of it is cut."""
MAX_BYTES = 400_000
"""The maximum size of all rows as JSON."""

KINDS = {
    "25006": "denied",  # read_only_sql_transaction
    "28000": "authentication",
    "28P01": "authentication",
    "3D000": "not_found",  # invalid_catalog_name
    "42501": "denied",  # insufficient_privilege
    "53300": "rate_limit",  # too_many_connections
    "57014": "timeout",  # query_canceled
    "57P01": "network",  # admin_shutdown
}
COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
OF_TRANSACTIONS = re.compile(
    r"\s*(ABORT|BEGIN|COMMIT|END|RELEASE|ROLLBACK|SAVEPOINT|START\s+TRANSACTION)\b", re.IGNORECASE
)
LIBPQ = re.compile(r"/\S*/libpq[-.]\S*")
ONLY_SQLSTATE = 3
"""PQERRORS_SQLSTATE: messages are the severity and the code."""
WAITING = (pq.PollingStatus.READING, pq.PollingStatus.WRITING)
SETTINGS = """
    SELECT set_config('statement_timeout', $1, false), set_config('intervalstyle', 'iso_8601', false),
        set_config('timezone', 'UTC', false)
"""


def postgres_query(query, params, max_rows, ctx):
    """Return the rows of one statement, in a transaction that only reads."""
    with connection(ctx, read_only=True) as connected:
        cursor = connected.cursor()
        try:
            # One row after the other, so that a large result needs no memory. It refuses a second statement.
            result = rows_of(cursor, cursor.stream(query, params), max_rows)
        except psycopg.ProgrammingError as error:
            if error.sqlstate is not None or "didn't produce a result" not in str(error):
                raise
            return {"columns": [], "rows": [], "truncated": False}
        if not result["rows"]:
            connected.pgconn.prepare(b"", query.encode())
            described = connected.pgconn.describe_prepared(b"")
            result["columns"] = [described.fname(index).decode() for index in range(described.nfields)]
        return result


def postgres_execute(query, params, max_rows, ctx):
    """Return how many rows one statement changed, and the rows that it returns. All of it is done, or nothing."""
    if OF_TRANSACTIONS.match(COMMENT.sub("", query)):
        message = "each call is a transaction of its own, so BEGIN, COMMIT and ROLLBACK have no effect on other calls"
        raise ctx.error("invalid_args", message)
    with connection(ctx, read_only=False) as connected:
        # Prepared, because only a prepared statement cannot have a second one after it.
        cursor = connected.execute(query, params, prepare=True)
        result = rows_of(cursor, cursor if cursor.description else (), max_rows)
        connected.commit()
        return {"changed_rows": max(0, cursor.rowcount), **result}


@contextmanager
def connection(ctx, *, read_only):
    """Open a connection in a transaction, which is rolled back unless it is committed."""
    try:
        connected = psycopg.connect(cursor_factory=psycopg.RawCursor, autocommit=True, **options())
    except psycopg.OperationalError as error:
        code = "" if isinstance(error, psycopg.errors.ConnectionTimeout) else refusal()
        raise ctx.error(KINDS.get(code, "network"), once_per_reason(str(error))[:2000]) from None
    try:
        connected.execute(SETTINGS, [f"{STATEMENT_SECONDS}s"])
        if connected.info.server_version >= 140000:
            # The server stops a statement if the call was cancelled, which closes the connection.
            connected.execute("SET client_connection_check_interval = '1s'")
        connected.autocommit = False
        connected.read_only = read_only
        for name, loader in LOADERS.items():
            connected.adapters.register_loader(name, loader)
        yield connected
    except psycopg.Error as error:
        raise explained(error, ctx) from None
    finally:
        connected.close()


def once_per_reason(message):
    """Return the message of a failed connection without repetitions: it has a part for each address of the host."""
    first, _, rest = message.strip().partition("\nMultiple connection attempts failed")
    parts = re.split(r"\n- host: .*, hostaddr: (?:'[^']*'|None): ", rest)[1:] or [first]
    reasons = {re.sub('server at "[^"]*"', "", part): part.strip() for part in parts}
    return "\n".join(reasons.values())


def options():
    verified = os.environ.get("PGSSLMODE") == "verify-full" and "PGSSLROOTCERT" not in os.environ
    certificate = {"sslrootcert": "system"} if verified else {}
    return {"gssencmode": "disable", "connect_timeout": CONNECT_SECONDS, **certificate}


def refusal():
    """Log in again and return the SQLSTATE of the server's error; empty without one.

    The exception for a refused login has only a message, in the language of the server. psycopg cannot ask libpq for
    the code instead, so this calls libpq.
    """
    library = ctypes.CDLL(LIBPQ.search(Path("/proc/self/maps").read_text(encoding="utf-8"))[0])
    library.PQsetErrorVerbosity.argtypes = (ctypes.c_void_p, ctypes.c_int)
    connection = pq.PGconn.connect_start(make_conninfo(**options()).encode())
    library.PQsetErrorVerbosity(connection.pgconn_ptr, ONLY_SQLSTATE)
    end = time.monotonic() + CONNECT_SECONDS
    state = pq.PollingStatus.WRITING
    while state in WAITING and connection.status != pq.ConnStatus.BAD and time.monotonic() < end:
        state = connection.connect_poll()
        if state in WAITING:
            files = [[connection.socket] if state == each else [] for each in WAITING]
            select.select(*files, [], max(0, end - time.monotonic()))
    found = re.search(r": +([0-9A-Z]{5})$", connection.error_message.decode("utf-8", "replace").strip())
    connection.finish()
    return found[1] if found else ""


def rows_of(cursor, found, max_rows):
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
    return {"columns": [each.name for each in cursor.description or ()], "rows": rows, "truncated": is_cut}


def shown(value):
    """Return a value that has a JSON form in toolc, and whether it is cut."""
    if isinstance(value, float) and not math.isfinite(value):
        return ("NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"), False
    if isinstance(value, (list, tuple)):
        items = [shown(item) for item in value]
        value = [item for item, _ in items]
        if any(cut for _, cut in items):
            return value, True
    elif not isinstance(value, (str, bytes, dict)):
        is_text = isinstance(value, (Range, Multirange, *ADDRESSES))
        return (str(value) if is_text else value), False
    if isinstance(value, (list, dict)) and len(text := json.dumps(value, default=str)) > MAX_VALUE:
        value = text
    is_cut = isinstance(value, (str, bytes)) and len(value) > MAX_VALUE
    return (value[:MAX_VALUE] if is_cut else value), is_cut


def explained(error, ctx):
    """Return the error for the model: the server's message, with the kind of its SQLSTATE."""
    message = str(error).strip()[:2000]
    is_lost = error.sqlstate is None and isinstance(error, psycopg.OperationalError)
    kind = KINDS.get(error.sqlstate, "network" if is_lost else "invalid_args")
    if kind == "timeout":
        message = f"the statement took longer than {STATEMENT_SECONDS} s and was cancelled; ask for less"
    elif error.sqlstate == "42601" and re.search(r'near "[%?:]|end of input', message):
        message += "\nParameters are written $1, $2 and so on."
    elif error.sqlstate == "25006":
        message += "; postgres_query is read-only, postgres_execute changes data"
    return ctx.error(kind, message)


class OrText:
    """Loads what Python's dates cannot represent, such as infinity, as text."""

    def load(self, data):
        try:
            return super().load(data)
        except psycopg.DataError:
            return bytes(data).decode()


class OrTextDateLoader(OrText, DateLoader):
    pass


class OrTextTimeLoader(OrText, TimeLoader):
    pass


class OrTextTimestampLoader(OrText, TimestampLoader):
    pass


class OrTextTimestamptzLoader(OrText, TimestamptzLoader):
    pass


ADDRESSES = (
    ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Interface, ipaddress.IPv6Interface,
    ipaddress.IPv4Network, ipaddress.IPv6Network,
)  # fmt: skip

LOADERS = {
    "date": OrTextDateLoader,
    "interval": TextLoader,  # Python's durations have no months
    "time": OrTextTimeLoader,
    "timestamp": OrTextTimestampLoader,
    "timestamptz": OrTextTimestamptzLoader,
}
