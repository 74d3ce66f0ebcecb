"""The sources of secret values: the user's own configuration, the file of ``--secrets``, or the environment.

``secrets:`` in the configuration, and the whole file of ``--secrets``, map names to sources::

    GITHUB_TOKEN: {env: GH_TOKEN}
    SHOP_TOKEN: {file: ~/.secrets/shop}
    BILLING_KEY: {command: [pass, show, billing]}

The file of ``--secrets`` can also contain values, as text. A secret without a source is read from the environment
variable ``TOOLC_SECRET_<NAME>``. Messages never contain values.
"""

import os
import select
import stat
import subprocess
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import monotonic
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.model.errors import UsageError
from toolc.model.text import render_size

MIN_CHARACTERS: Final = 8
"""The minimum length of a value. Redacting a shorter value would also remove ordinary words from output."""

MAX_BYTES: Final = 64 * 1024
"""The maximum size of a value, in bytes. No key is larger, and all output must be searched for the value."""

COMMAND_SECONDS: Final = 60.0
"""The maximum time for a command, in seconds. The user may have to unlock a password store."""

PREFIX: Final = "TOOLC_SECRET_"
"""The prefix of environment variables for secrets without a source."""


@dataclass(frozen=True, slots=True)
class EnvSource:
    """The value of an environment variable of toolc."""

    variable: str


@dataclass(frozen=True, slots=True)
class FileSource:
    """The contents of a file, without one line feed at the end."""

    path: str


@dataclass(frozen=True, slots=True)
class CommandSource:
    """The stdout of a command, without one line feed at the end. The command runs without a shell."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LiteralSource:
    """The value itself, which is not part of ``repr``."""

    value: str = field(repr=False)


SecretSource: TypeAlias = EnvSource | FileSource | CommandSource | LiteralSource


class SecretStore:
    """The values of secrets. Each is read when it is first needed. Thread-safe.

    With ``from_environment``, secrets that are not in ``sources`` are read from ``TOOLC_SECRET_<NAME>``.
    """

    def __init__(
        self,
        sources: Mapping[str, SecretSource],
        environment: Mapping[str, str] | None = None,
        *,
        from_environment: bool = True,
    ) -> None:
        self._sources = dict(sources)
        self._environment = os.environ if environment is None else environment
        self._from_environment = from_environment
        self._values: dict[str, str] = {}
        self._lock = threading.Lock()
        self._reading: dict[str, threading.Lock] = {}
        files = {each.path for each in sources.values() if isinstance(each, FileSource)}
        self._real_paths = {path: _real_path(path) for path in files}

    def extended(self, sources: Mapping[str, SecretSource]) -> "SecretStore":
        """Return a copy of this store in which these sources are added or replace existing ones."""
        merged = {**self._sources, **sources}
        return SecretStore(merged, self._environment, from_environment=self._from_environment)

    def __repr__(self) -> str:
        return f"<SecretStore: {', '.join(sorted(self._sources)) or 'no sources'}>"

    def reveal(self, names: Iterable[str]) -> dict[str, str]:
        """Return the values of these secrets. Raises ``UsageError``, which describes all problems.

        A caller waits only for the sources of the secrets that it needs.
        """
        values: dict[str, str] = {}
        problems: list[str] = []
        for name in sorted(set(names)):
            with self._lock:
                reading = self._reading.setdefault(name, threading.Lock())
            with reading:
                try:
                    values[name] = self._values[name] = self._values.get(name) or self._value(name)
                except UsageError as error:
                    problems.append(str(error))
        if problems:
            raise UsageError("\n".join(problems))
        return values

    def _value(self, name: str) -> str:
        source = self._sources.get(name)
        if source is None:
            if not self._from_environment or f"{PREFIX}{name}" not in self._environment:
                raise UsageError(_missing(name, environment=self._from_environment))
            source = EnvSource(f"{PREFIX}{name}")
        if isinstance(source, FileSource):
            content = _read_file(name, source.path, self._real_paths[source.path])
            return _check_value(name, _decode(name, content, f"the file {source.path}"))
        return _check_value(name, _read(name, source, self._environment))


def _missing(name: str, *, environment: bool) -> str:
    if environment:
        return (
            f"the secret {name!r} has no value; set the variable {PREFIX}{name}, or configure its source in "
            f"~/.config/toolc/config.yaml: secrets: {{{name}: {{file: ~/.secrets/{name.lower()}}}}}"
        )
    return f"the secret {name!r} has no value; tests receive only the secrets in the file of --secrets"


def _read(name: str, source: EnvSource | CommandSource | LiteralSource, environment: Mapping[str, str]) -> str:
    match source:
        case LiteralSource(value=value):
            return value
        case EnvSource(variable=variable):
            if variable not in environment:
                raise UsageError(
                    f"the secret {name!r} is configured as the variable {variable}, which is not set; set it"
                )
            return environment[variable]
        case CommandSource(argv=argv):
            return _decode(name, _run(name, argv), f"the output of {argv[0]!r}")


def _real_path(path: str) -> str:
    """Return the path of a file without links, or an empty string if it cannot be resolved."""
    try:
        return os.path.realpath(Path(path).expanduser())
    except (OSError, ValueError, RuntimeError):
        return ""


def _read_file(name: str, path: str, real_path: str) -> bytes:
    """Read the file of a secret. ``real_path`` is the resolved path at the time when the store was created."""
    try:
        # Opening a pipe would otherwise wait for its writer.
        with os.fdopen(os.open(Path(path).expanduser(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            _check_file(name, path, real_path, file.fileno())
            return file.read(MAX_BYTES + 2) or b""
    except (OSError, ValueError, RuntimeError) as error:
        # The path may contain a NUL, or start with the home of an unknown user.
        raise UsageError(f"the secret {name!r}: cannot read {path}: {_error_text(error)}") from None


def _check_file(name: str, path: str, real_path: str, descriptor: int) -> None:
    """Reject a file of this user that others can access, as ssh does for keys (``sshkey_perm_ok`` in OpenSSH).

    Also reject a file if the path now leads to a different file, because a tool with write access could have replaced
    it with a link to any file of the user. Read-only mounts, which orchestrators use for secrets, are accepted: their
    modes cannot be changed, tools cannot write there, and their links change when a secret does.
    """
    if os.fstatvfs(descriptor).f_flag & os.ST_RDONLY:
        return
    status = os.fstat(descriptor)
    others = status.st_mode & 0o077
    if status.st_uid == os.geteuid() and others:
        raise UsageError(
            f"the secret {name!r}: other users can access the file {path} (mode {status.st_mode & 0o777:04o}); "
            f"make it private: chmod 600 {path}"
        )
    try:
        opened = str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:  # not Linux
        opened = os.path.realpath(Path(path).expanduser())
    if opened != real_path and stat.S_ISREG(status.st_mode):
        raise UsageError(
            f"the secret {name!r}: {path} leads to another file than when the executor was created, perhaps "
            "because of a tool; if you changed it yourself, create a new executor"
        )


def _error_text(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _run(name: str, argv: tuple[str, ...]) -> bytes:
    remedy = f"run it yourself to see why: {' '.join(argv)}"
    deadline = monotonic() + COMMAND_SECONDS
    try:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    except (OSError, ValueError) as error:
        raise UsageError(f"the secret {name!r}: cannot run {argv[0]!r}: {_error_text(error)}") from None
    with process:
        try:
            written = _read_output(process, argv, deadline)
            status = process.wait(max(0.0, deadline - monotonic()))
        except subprocess.TimeoutExpired:
            raise UsageError(
                f"the secret {name!r}: {argv[0]!r} took more than {COMMAND_SECONDS:g} seconds; {remedy}"
            ) from None
        finally:
            process.kill()
    if status and len(written) <= MAX_BYTES:
        raise UsageError(f"the secret {name!r}: {argv[0]!r} ended with status {status}; {remedy}")
    return written


def _read_output(process: subprocess.Popen[bytes], argv: tuple[str, ...], deadline: float) -> bytes:
    """Return a command's output. Kill the command if the output exceeds ``MAX_BYTES``. Raises ``TimeoutExpired``."""
    assert process.stdout is not None
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN)
    written = b""
    while len(written) <= MAX_BYTES + 2:
        if not poll.poll(max(0.0, deadline - monotonic()) * 1000):
            raise subprocess.TimeoutExpired(argv, COMMAND_SECONDS)
        piece = os.read(process.stdout.fileno(), 8192)
        if not piece:
            return written
        written += piece
    process.kill()
    return written


def _decode(name: str, data: bytes, what: str) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"the secret {name!r}: {what} is not UTF-8 text; store its Base64 instead") from None
    return text.removesuffix("\n").removesuffix("\r")


def _check_value(name: str, value: str) -> str:
    problem = ""
    if not value.strip():
        problem = "is empty"
    elif len(value.strip()) < MIN_CHARACTERS:
        problem = f"has fewer than {MIN_CHARACTERS} characters, which is too few to redact it from output"
    elif "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        problem = "contains a NUL character or invalid Unicode"
    elif len(value.encode()) > MAX_BYTES:
        problem = f"is longer than {render_size(MAX_BYTES)}"
    if problem:
        raise UsageError(f"the value of the secret {name!r} {problem}; use another value")
    return value
