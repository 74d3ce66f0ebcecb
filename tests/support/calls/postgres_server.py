"""A PostgreSQL server of Debian's package, in a temporary folder, as an unprivileged user."""

import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "correct-horse-battery"
USER = 65534
"""The user of the server's processes if the tests run as root, which PostgreSQL refuses."""


@dataclass(frozen=True)
class PostgresServer:
    """A running server: its port on 127.0.0.1, and the folder of its programs. The superuser is ``toolc``."""

    port: int
    programs: Path
    folder: Path

    def query(self, sql: str) -> str:
        """Run SQL as the superuser and return the rows, without alignment."""
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "toolc", "postgres"]
        argv = [str(self.programs / "psql"), *address, "-qAtX", "-c", sql]
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def programs() -> Path | None:
    """Return the folder of the server's programs; None if Debian's package postgresql is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def postgres_server(*settings: str, tls: Path | None = None) -> Iterator[PostgresServer]:
    """Start a server with these settings (``name=value``), and stop it at the end.

    ``tls`` is a folder with ``cert.pem`` and ``key.pem``.
    """
    binaries = programs()
    assert binaries is not None, "install Debian's package postgresql"
    folder = Path(tempfile.mkdtemp(prefix="toolc-postgres-"))
    try:
        if os.getuid() == 0:
            os.chown(folder, USER, USER)
        (folder / "password").write_text(PASSWORD, encoding="utf-8")
        (folder / "password").chmod(0o644)
        data = folder / "data"
        init = [binaries / "initdb", "-D", data, "-U", "toolc", "-A", "scram-sha-256", "--pwfile", folder / "password"]
        _run(folder, [*init, "--no-sync", "--locale=C.UTF-8", "--encoding=UTF8"])
        server = PostgresServer(_free_port(), binaries, folder)
        options = [f"port={server.port}", "listen_addresses=127.0.0.1", "fsync=off", *settings]
        options.append(f"unix_socket_directories={folder}")
        if tls is not None:
            options.append("ssl=on")
            _copy(tls / "cert.pem", data / "server.crt")
            _copy(tls / "key.pem", data / "server.key")
        argv = [str(binaries / "postgres"), "-D", str(data), *(word for each in options for word in ("-c", each))]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, user=_user(), group=_user(),
                extra_groups=None if _user() is None else [],
            )  # fmt: skip
        try:
            _wait(server, process)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    finally:
        shutil.rmtree(folder)


def _copy(source: Path, target: Path) -> None:
    """Copy a file, readable by the user of the server only."""
    shutil.copyfile(source, target)
    target.chmod(0o600)
    if (user := _user()) is not None:
        os.chown(target, user, user)


def _user() -> int | None:
    return USER if os.getuid() == 0 else None


def _run(folder: Path, argv: list[object]) -> None:
    done = subprocess.run(
        [str(each) for each in argv], cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        user=_user(), group=_user(), extra_groups=None if _user() is None else [],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout


def _wait(server: PostgresServer, process: subprocess.Popen[bytes]) -> None:
    ready = [str(server.programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(server.port)]
    deadline = time.monotonic() + 60
    while subprocess.run(ready, check=False, timeout=60).returncode != 0:
        log = (server.folder / "log").read_text(errors="replace")
        assert process.poll() is None, log
        assert time.monotonic() < deadline, log
        time.sleep(0.05)


def _free_port() -> int:
    """Return a free port that no client gets for a connection of its own until the server listens on it."""
    while True:
        port = random.randrange(20_000, 30_000)
        with suppress(OSError), socket.socket() as taken:
            taken.bind(("127.0.0.1", port))
            return port
