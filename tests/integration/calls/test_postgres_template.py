"""``toolc init --tool postgres``: its tools, called with a real PostgreSQL server."""

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from calls.http_tools import failed
from calls.postgres_server import PASSWORD, PostgresServer, postgres_server, programs
from calls.scripted_server import certificate
from calls.tcp_server import tcp
from cli.cli_engines import engines
from cli.command_line import run
from engines.waiting_sandboxes import until

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonValue
from toolc.model.permissions import permissions_of
from toolc.model.result import ToolResult
from toolc.sandbox.oci.engine import OciEngine

pytestmark = pytest.mark.timeout(300)

Call: TypeAlias = Callable[..., ToolResult]
"""Calls ``postgres_query`` or ``postgres_execute`` with a query and parameters."""

LONG = "SELECT pg_sleep(60)"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if programs() is None:
        pytest.skip("this needs Debian's package postgresql")
    with postgres_server() as started:
        started.query("CREATE ROLE reader LOGIN PASSWORD 'reader-password'")
        yield started


def write_template(folder: Path, port: int, user: str = "toolc") -> Path:
    """Write the template with the address of the server; return its spec."""
    assert run("init", str(folder), "--tool", "postgres") == 0
    project = folder / "toolc.yaml"
    text = project.read_text(encoding="utf-8").replace("verify-full", "disable").replace("5432", str(port))
    project.write_text(text.replace("postgres_user: postgres", f"postgres_user: {user}"), encoding="utf-8")
    return folder / "specs" / "postgres.yaml"


def executor(spec: Path, engine: OciEngine, password: str = PASSWORD, **options: float) -> Executor:
    store = SecretStore({"PGPASSWORD": LiteralSource(password)}, {})
    return Executor(Registry.load(spec), engine=engine, secrets=store, **options)  # type: ignore[arg-type]  # timeout


@pytest.fixture
def call(server: PostgresServer, engine: OciEngine, tmp_path: Path) -> Iterator[Call]:
    with executor(write_template(tmp_path, server.port), engine) as calls:

        def call(name: str, query: str, *params: JsonValue, **others: JsonValue) -> ToolResult:
            return calls.run(f"postgres_{name}", {"query": query, "params": list(params), **others})

        yield call


def data_of(result: ToolResult) -> dict[str, Any]:
    assert isinstance(result.data, dict), result
    return result.data


@pytest.mark.parametrize("engine", engines())
def test_tests_of_the_template_pass(
    engine: str, server: PostgresServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_template(tmp_path, server.port)
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text(f"PGPASSWORD: {PASSWORD}\n", encoding="utf-8")
    secrets.chmod(0o600)
    assert run("test", str(spec), "--secrets", str(secrets), "--engine", engine, "-j", "2") == 0, capsys.readouterr()


def test_a_review_sees_the_host_and_the_secret(tmp_path: Path) -> None:
    registry = Registry.load(write_template(tmp_path, 6000))
    for name in registry.names:
        granted = permissions_of(registry.registered(name).spec, {}).to_json()
        assert "localhost" in str(granted)
        assert "PGPASSWORD" in str(granted)


TYPES = {
    "1::smallint": 1,
    "9007199254740993::bigint": 9007199254740993,
    "1.10::numeric": "1.10",
    "'NaN'::numeric": "NaN",
    "1.5::float8": 1.5,
    "'NaN'::float8": "NaN",
    "'-Infinity'::float4": "-Infinity",
    "true": True,
    "NULL": None,
    "'a'::char(3)": "a  ",
    "'2026-03-01'::date": "2026-03-01",
    "'infinity'::date": "infinity",
    "'0044-03-15 BC'::date": "0044-03-15 BC",
    "'09:30'::time": "09:30:00",
    "'24:00'::time": "24:00:00",
    "'2026-03-01 09:00'::timestamp": "2026-03-01T09:00:00",
    "'2026-03-01 09:00+01'::timestamptz": "2026-03-01T08:00:00+00:00",
    "'infinity'::timestamptz": "infinity",
    "'1 year 2 mons 3 days 04:05:06'::interval": "P1Y2M3DT4H5M6S",
    "'2eb8aa08-aa98-41ea-b4aa-73b441d16380'::uuid": "2eb8aa08-aa98-41ea-b4aa-73b441d16380",
    "'\\x00ff'::bytea": "AP8=",
    """'{"a": [1, null]}'::json""": {"a": [1, None]},
    """'{"a": "b"}'::jsonb""": {"a": "b"},
    "ARRAY[[1, 2], [3, 4]]": [[1, 2], [3, 4]],
    "ARRAY['1 mon'::interval]": ["P1M"],
    "'10.0.0.1'::inet": "10.0.0.1",
    "'10.0.0.0/8'::cidr": "10.0.0.0/8",
    "'08:00:2b:01:02:03'::macaddr": "08:00:2b:01:02:03",
    "'[1,3)'::int4range": "[1, 3)",
    "'{[1,3)}'::int4multirange": "{[1, 3)}",
    "'(1,2)'::point": "(1,2)",
    "B'101'": "101",
    "ROW(1, 'a')": ["1", "a"],
    "'<a/>'::xml": "<a/>",
    "to_tsvector('simple', 'b a')": "'a':2 'b':1",
    "pg_typeof(1)": "integer",
}


def test_every_column_type_has_a_json_value(call: Call) -> None:
    (row,) = data_of(call("query", f"SELECT {', '.join(TYPES)}"))["rows"]
    assert dict(zip(TYPES, row, strict=True)) == TYPES


def test_parameters_are_values_and_never_sql(call: Call) -> None:
    nasty = "'; DROP TABLE users; --"
    result = call(
        "query", "SELECT $1 AS a, $2::int + 1, $3::text IS NULL, $4::bool, $5::int[]", nasty, 2, None, True, "{1,2}"
    )
    assert result.data == {
        "columns": ["a", "?column?", "?column?", "bool", "int4"], "rows": [[nasty, 3, True, True, [1, 2]]],
        "truncated": False,
    }  # fmt: skip


def test_data_is_changed_and_read(call: Call) -> None:
    created = call("execute", "CREATE TABLE users (name text UNIQUE, age int)")
    assert created.data == {"changed_rows": 0, "columns": [], "rows": [], "truncated": False}
    added = call("execute", "INSERT INTO users VALUES ($1, $2), ('Bob', 20) RETURNING name", "Ada", 36)
    assert added.data == {"changed_rows": 2, "columns": ["name"], "rows": [["Ada"], ["Bob"]], "truncated": False}
    older = call("query", "SELECT * FROM users WHERE age > $1", 25)
    assert older.data == {"columns": ["name", "age"], "rows": [["Ada", 36]], "truncated": False}
    assert call("query", "SELECT name, age FROM users WHERE false").data == {
        "columns": ["name", "age"], "rows": [], "truncated": False,
    }  # fmt: skip
    kind, message = failed(call("execute", "INSERT INTO users VALUES ('Cy', 1), ('Ada', 2)"))
    assert (kind, "users_name_key" in message) == ("invalid_args", True)
    assert call("query", "SELECT count(*) FROM users").data == {"columns": ["count"], "rows": [[2]], "truncated": False}


@pytest.mark.parametrize(
    ("query", "kind", "message"),
    [
        ("DELETE FROM pg_description", "denied", "postgres_query is read-only"),
        ("SELECT set_config('transaction_read_only', 'off', false)", "invalid_args", "before any query"),
        ("CREATE TEMPORARY SEQUENCE s", "denied", "read-only transaction"),
        ("SELECT 1; DROP TABLE users", "invalid_args", "multiple commands"),
        ("COMMIT; DROP TABLE users", "invalid_args", "multiple commands"),
        ("COPY pg_description TO STDOUT", "invalid_args", "COPY"),
        ("SELECT $1", "invalid_args", "requires 1"),
        ("SELECT %s", "invalid_args", "Parameters are written $1, $2"),
        ("SELECT 1 WHERE 1 = ?", "invalid_args", "Parameters are written $1, $2"),
        ("SELECT nme FROM pg_roles", "invalid_args", "LINE 1"),
    ],
)
def test_a_query_that_does_not_only_read_is_refused(call: Call, query: str, kind: str, message: str) -> None:
    found = failed(call("query", query))
    assert found[0] == kind
    assert message in found[1]


@pytest.mark.parametrize("query", ["SET search_path = x", "COMMIT"])
def test_a_statement_without_rows_has_an_empty_result(call: Call, query: str) -> None:
    assert call("query", query).data == {"columns": [], "rows": [], "truncated": False}


def test_a_transaction_across_calls_is_refused(call: Call) -> None:
    kind, message = failed(call("execute", "/* two statements */ start transaction"))
    assert (kind, "each call is a transaction of its own" in message) == ("invalid_args", True)


def test_large_results_are_cut(call: Call) -> None:
    many = call("query", "SELECT g FROM generate_series(1, 5000000) g", max_rows=3)
    assert many.data == {"columns": ["g"], "rows": [[1], [2], [3]], "truncated": True}
    wide = data_of(call("query", "SELECT repeat('x', 10000) FROM generate_series(1, 1000)", max_rows=1000))
    assert (len(wide["rows"]), wide["truncated"]) == (39, True)
    values = "repeat('x', 30000000), repeat('y', 30000000)::bytea, to_json(repeat('z', 30000))"
    long = data_of(call("query", f"SELECT {values}"))
    (row,) = long["rows"]
    assert [len(value) for value in row] == [20_000, 26_668, 20_000]
    assert long["truncated"] is True


def test_many_returned_rows_are_cut_but_all_are_changed(call: Call, server: PostgresServer) -> None:
    call("execute", "CREATE TABLE many AS SELECT g FROM generate_series(1, 20000) g")
    result = call("execute", "UPDATE many SET g = g + 1 RETURNING g", max_rows=1)
    assert result.data == {"changed_rows": 20_000, "columns": ["g"], "rows": [[2]], "truncated": True}
    assert server.query("SELECT max(g) FROM many") == "20001"


def test_a_wrong_password_is_an_error_that_does_not_repeat_it(
    server: PostgresServer, engine: OciEngine, tmp_path: Path
) -> None:
    with executor(write_template(tmp_path, server.port), engine, "wrong-password-9") as calls:
        kind, message = failed(calls.run("postgres_query", {"query": "SELECT 1"}))
    assert kind == "authentication"
    assert "wrong-password-9" not in message


def login_refused_with(code: str, message: str) -> Callable[[socket.socket], None]:
    """Return a server that reads the start of a session and refuses it, as PostgreSQL does."""

    def serve(connection: socket.socket) -> None:
        connection.recv(int.from_bytes(connection.recv(4), "big") - 4)
        fields = {"S": "FATAL", "V": "FATAL", "C": code, "M": message}
        body = b"".join(f"{name}{value}\0".encode() for name, value in fields.items()) + b"\0"
        connection.sendall(b"E" + (len(body) + 4).to_bytes(4, "big") + body)

    return serve


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("28P01", "Passwort-Authentifizierung für Benutzer »toolc« fehlgeschlagen", "authentication"),
        ("28000", "Rolle »toolc« existiert nicht", "authentication"),
        ("3D000", "Datenbank »postgres« existiert nicht", "not_found"),
        ("53300", "tut mir leid, schon zu viele Verbindungen", "rate_limit"),
        ("57P03", "das Datenbanksystem startet", "network"),
    ],
)
def test_a_refused_login_has_its_kind_in_every_language(
    code: str, message: str, kind: str, engine: OciEngine, tmp_path: Path
) -> None:
    with tcp(login_refused_with(code, message)) as port, executor(write_template(tmp_path, port), engine) as calls:
        found = failed(calls.run("postgres_query", {"query": "SELECT 1"}))
    assert (found[0], message in found[1]) == (kind, True)


@pytest.mark.parametrize(("user", "kind"), [("nobody_here", "authentication"), ("reader", "authentication")])
def test_a_server_that_refuses_a_login_is_not_a_network_error(
    user: str, kind: str, server: PostgresServer, engine: OciEngine, tmp_path: Path
) -> None:
    with executor(write_template(tmp_path, server.port, user), engine) as calls:
        assert failed(calls.run("postgres_query", {"query": "SELECT 1"}))[0] == kind


def test_a_missing_database_is_not_found(server: PostgresServer, engine: OciEngine, tmp_path: Path) -> None:
    spec = write_template(tmp_path, server.port)
    project = tmp_path / "toolc.yaml"
    text = project.read_text(encoding="utf-8").replace("database: postgres", "database: shop")
    project.write_text(text, encoding="utf-8")
    with executor(spec, engine) as calls:
        assert failed(calls.run("postgres_query", {"query": "SELECT 1"}))[0] == "not_found"


def test_rights_of_the_role_apply(server: PostgresServer, engine: OciEngine, tmp_path: Path) -> None:
    with executor(write_template(tmp_path, server.port, "reader"), engine, "reader-password") as calls:
        found = failed(calls.run("postgres_query", {"query": "SELECT * FROM pg_authid"}))
    assert found == ("denied", "permission denied for table pg_authid")


def test_a_server_that_does_not_answer_is_a_network_error(engine: OciEngine, tmp_path: Path) -> None:
    with executor(write_template(tmp_path, 9), engine) as calls:
        kind, message = failed(calls.run("postgres_query", {"query": "SELECT 1"}))
    assert kind == "network"
    # ``localhost`` has two addresses. libpq words a reset before its first write in another way than one after it.
    reasons = re.findall(r"port 9 failed: (.*)", message)
    assert len({*reasons}) == len(reasons) > 0


def test_a_dropped_connection_is_a_network_error(server: PostgresServer, call: Call) -> None:
    drop = "SELECT pg_terminate_backend(pg_backend_pid())"
    assert failed(call("query", drop))[0] == "network"
    assert failed(call("execute", drop))[0] == "network"


def test_a_long_statement_is_cancelled_by_the_server(server: PostgresServer, engine: OciEngine, tmp_path: Path) -> None:
    spec = write_template(tmp_path, server.port)
    code = spec.with_name("postgres.py")
    code.write_text(code.read_text(encoding="utf-8").replace("STATEMENT_SECONDS = 20", "STATEMENT_SECONDS = 1"))
    with executor(spec, engine) as calls:
        for name in ("postgres_query", "postgres_execute"):
            found = failed(calls.run(name, {"query": LONG}))
            assert found == ("timeout", "the statement took longer than 1 s and was cancelled; ask for less")


def test_a_call_that_ends_at_its_deadline_ends_its_statement(
    server: PostgresServer, engine: OciEngine, tmp_path: Path
) -> None:
    running = f"SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = '{LONG}'"
    with executor(write_template(tmp_path, server.port), engine, timeout=4) as calls:
        assert failed(calls.run("postgres_query", {"query": LONG}))[0] == "timeout"
    until(lambda: server.query(running) == "0")


ENCRYPTED = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"


@pytest.mark.skipif(programs() is None, reason="this needs Debian's package postgresql")
def test_the_connection_is_encrypted_and_the_server_is_checked(engine: OciEngine, tmp_path: Path) -> None:
    _, certificate_file = certificate(tmp_path, "DNS:localhost")
    spec = tmp_path / "project" / "specs" / "postgres.yaml"
    with postgres_server(tls=tmp_path) as server:
        write_template(tmp_path / "project", server.port)
        project = spec.parents[1] / "toolc.yaml"
        text = project.read_text(encoding="utf-8")
        project.write_text(text.replace("sslmode: disable", "sslmode: require"), encoding="utf-8")
        with executor(spec, engine) as calls:
            assert data_of(calls.run("postgres_query", {"query": ENCRYPTED}))["rows"] == [[True]]
        project.write_text(text.replace("sslmode: disable", "sslmode: verify-full"), encoding="utf-8")
        with executor(spec, engine) as calls:
            kind, message = failed(calls.run("postgres_query", {"query": ENCRYPTED}))
        assert (kind, "certificate verify failed" in message) == ("network", True)
        # As the guide says: the authority is a file of the tool.
        (spec.parent / "authority.pem").write_bytes(certificate_file.read_bytes())
        own = spec.read_text(encoding="utf-8").replace(
            "file: postgres.py,", "file: postgres.py, files: [authority.pem],"
        )
        spec.write_text(
            own.replace("    env:\n", "    env:\n      PGSSLROOTCERT: /tool/authority.pem\n"), encoding="utf-8"
        )
        with executor(spec, engine) as calls:
            assert data_of(calls.run("postgres_query", {"query": ENCRYPTED}))["rows"] == [[True]]
