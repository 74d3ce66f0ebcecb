"""Remove the values of secrets from everything that leaves a call, in every common encoding."""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from typing import Final, TypeAlias

from toolc.backends.terminal_text import sequences_in
from toolc.dataclass import dataclass, field, replace
from toolc.model.errors import ToolcError, UsageError
from toolc.model.json_schema import JsonValue
from toolc.model.plan import McpCall, Plan, SecretFile
from toolc.model.result import Content, Resource, Text, ToolFailure, ToolResult
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.sandbox import EnvVar
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import SECRETS
from toolc.model.text import lazy_re
from toolc.runtime.secrets.encodings import EncodingMatcher, base64_encodings, secret_encodings

_BREAKS: Final = b"\r\n\t \\"
"""The characters between lines of Base64, with indentation. Lines have 64 (RFC 7468) or 76 characters (RFC 2045).

The backslash is included because lines in JSON text end with ``\\n``, and some programs write ``\\/``.
"""

_MAX_BREAKS: Final = 1024
"""How many more of these characters than Base64 characters a match may have, so that a tool cannot delay the output.

Wrapped Base64 has far fewer line breaks than characters.
"""

_MAX_INTERRUPTED: Final = 16 * 1024
"""How many more bytes than characters a secret with control sequences may have, so that output is not delayed."""

_PREFIX_BYTES: Final = 32
"""The number of bytes of a form that are compared before the whole form.

Few other texts share that many bytes with a form.
"""

_NUMBER: Final = lazy_re(r"-?[0-9]+(?:\.[0-9]+)?")

Reveal: TypeAlias = Callable[[Iterable[str]], Mapping[str, str]]
"""Returns the values of secrets by name. Raises ``UsageError`` with the names of all missing secrets."""

FOLDER: Final = "secrets"
"""The folder of secret files below ``/tool``. It is a file system in memory, private to the sandbox."""


class Redactor:
    """Replaces each secret with ``[secret NAME]``, which is valid inside JSON text.

    ``cut_mark`` marks where the guest has truncated a text (``toolc.guest.truncate``). If empty, there is no mark.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._marks: dict[bytes, bytes] = {}
        self._forms = EncodingMatcher()
        self._in_lines = EncodingMatcher()
        self._shortest = 0
        self._has_number = False
        self.cut_mark = ""
        for name, value in (secrets or {}).items():
            self.add(name, value)

    def __bool__(self) -> bool:
        return bool(self._marks or self.cut_mark)

    def add(self, name: str, value: str) -> None:
        """Add a secret to redact."""
        mark = f"[secret {name}]".encode()
        for form in secret_encodings(value):
            self._marks.setdefault(form, mark)
            self._forms.add(form)
        for form in base64_encodings(value):
            self._in_lines.add(form)
        self._shortest = min(map(len, self._marks))
        self._has_number = self._has_number or bool(_NUMBER.fullmatch(value))

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Remove secrets from the messages of toolc's own errors that are raised in the ``with`` block."""
        try:
            yield
        except ToolcError as error:
            error.args = tuple(self.text(each) if isinstance(each, str) else each for each in error.args)
            raise

    def data(self, data: bytes, first: int = 0) -> bytes:
        """Return ``data`` from ``first`` without secrets, even a secret that begins before ``first``."""
        if len(data) < self._shortest or not self._marks:
            return data[first:]
        return self._redact(data, len(data), first)[0]

    def text(self, text: str) -> str:
        """Return ``text`` without secrets."""
        if self.cut_mark and self.cut_mark in text:
            return "".join(self._at_cuts(text.split(self.cut_mark)))
        if not self._marks:
            return text
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def head(self, text: str, size: int) -> str:
        """Return the first ``size`` characters, without secrets, of a text that may already be truncated."""
        if len(text) < size:
            return self.text(text)
        redacted = self.final(text.encode("utf-8", "surrogatepass"))[0]
        return redacted.decode("utf-8", "surrogatepass")[:size]

    def _at_cuts(self, pieces: list[str]) -> Iterator[str]:
        """Yield the pieces of a truncated text without any possible parts of a secret at the cuts."""
        for index, piece in enumerate(pieces):
            data = piece.encode("utf-8", "surrogatepass")
            first = max((_partial_end(data, form) for form in self._marks), default=0) if index else 0
            limit = len(data) - (self._pending(data) if index < len(pieces) - 1 else 0)
            yield self._redact(data, limit, first)[0].decode("utf-8", "ignore")

    def json(self, value: JsonValue) -> JsonValue:
        """Return ``value`` without secrets in its texts and keys."""
        return self._json(value, self.text) if self else value

    def values(self, value: JsonValue) -> JsonValue:
        """Return ``value`` without secrets in its texts. Keys are toolc's own and not searched."""
        return self._json(value, str) if self else value

    def _json(self, value: JsonValue, key_of: Callable[[str], str]) -> JsonValue:
        match value:
            case str():
                return self.text(value)
            case list():
                return [self._json(item, key_of) for item in value]
            case dict():
                return {key_of(key): self._json(item, key_of) for key, item in value.items()}
            case int() | float() if self._has_number:
                return self._number(value)
            case _:
                return value

    def _number(self, value: float) -> JsonValue:
        text = json.dumps(value)
        redacted = self.text(text)
        return value if redacted == text else redacted

    def final(self, data: bytes, first: int = 0) -> tuple[bytes, bytes, int]:
        """Split ``data`` from ``first`` into a final part without secrets, and a rest that may begin a secret.

        The third value is how many bytes to remove at the start of the rest, because another secret ends there.
        """
        if not self._marks:
            return data[first:], b"", 0
        limit = len(data) - self._pending(data)
        redacted, end = self._redact(data, limit, first)
        return redacted, data[limit:], end - limit

    def _redact(self, data: bytes, limit: int, first: int = 0) -> tuple[bytes, int]:
        """Return ``data`` from ``first`` to ``limit`` with marks in place of the secrets that begin there.

        The second value is the position at which the last of them ends, at least ``limit``.
        """
        pieces: list[bytes] = []
        at = first
        for start, end, mark in self._found(data):
            # A longer form may follow, of which this is only the beginning.
            if start >= limit:
                break
            if start >= at:
                pieces += (data[at:start], mark)
            at = max(at, end)
        pieces.append(data[at:limit])
        return b"".join(pieces), max(at, limit)

    def _found(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """Return the positions of secrets in order, with their marks. At the same position, the longest is first."""
        found = [(at, at + len(form), self._marks[form]) for at, form in self._forms.matches(data)]
        if b"\n" in data or b"\\" in data:
            found += [(start, end, self._marks[form]) for start, end, form in _across_lines(data, self._in_lines)]
        if rest := _Interrupted.of(data):
            found += [(*rest.span(at, len(form)), self._marks[form]) for at, form in self._forms.matches(rest.joined)]
        return sorted(found, key=lambda each: (each[0], -each[1]))

    def _pending(self, data: bytes) -> int:
        """Return how many bytes at the end of ``data`` may be the beginning of a secret."""
        flat = _flat(data)
        partial = self._in_lines.partial_match(flat.translate(None, _BREAKS))
        pending = max(self._forms.partial_match(data), _size_of_last(flat, partial))
        if (rest := _Interrupted.of(data)) and (count := self._forms.partial_match(rest.joined)):
            size = len(data) - rest.span(len(rest.joined) - count, count)[0]
            pending = max(pending, size if size <= count + _MAX_INTERRUPTED else 0)
        return pending


@dataclass(frozen=True, slots=True)
class _Interrupted:
    """Data without the control sequences of terminals, which can interrupt a secret, such as one that is coloured.

    ``pieces`` has the position of each piece in ``joined`` and in the data.
    """

    joined: bytes
    pieces: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, data: bytes) -> "_Interrupted | None":
        """Return ``data`` without its sequences, or None if it has none."""
        sequences = sequences_in(data)
        if not sequences:
            return None
        joined, pieces, last = bytearray(), [], 0
        for start, end in (*sequences, (len(data), len(data))):
            pieces.append((len(joined), last))
            joined += data[last:start]
            last = end
        return cls(bytes(joined), tuple(pieces))

    def span(self, at: int, size: int) -> tuple[int, int]:
        """Return the start and the end in the data of ``size`` bytes at ``at`` of ``joined``."""
        return self._position(at), self._position(at + size - 1) + 1

    def _position(self, at: int) -> int:
        in_joined, in_data = self.pieces[bisect_right(self.pieces, at, key=itemgetter(0)) - 1]
        return in_data + at - in_joined


def _across_lines(data: bytes, matcher: EncodingMatcher) -> Iterator[tuple[int, int, bytes]]:
    """Yield the positions of Base64 that is wrapped into lines."""
    flat = _flat(data)
    joined = flat.translate(None, _BREAKS)
    positions: list[int] = []
    for at, form in matcher.matches(joined):
        positions = positions or [position for position, byte in enumerate(flat) if byte not in _BREAKS]
        yield positions[at], positions[at + len(form) - 1] + 1, form


def _partial_end(data: bytes, form: bytes) -> int:
    """Return how many bytes at the beginning of ``data`` are an incomplete end of ``form``."""
    start = max(1, len(form) - len(data))
    while data and (start := form.find(data[:1], start)) >= 0:
        # Compare a few bytes first, because the rest of a long form is also long.
        if data.startswith(form[start : start + _PREFIX_BYTES]) and data.startswith(form[start:]):
            return len(form) - start
        start += 1
    return 0


def _size_of_last(data: bytes, count: int) -> int:
    """Return the size of the end of ``data`` with ``count`` bytes besides breaks, or 0 if there are too many breaks."""
    size, max_size = 0, 2 * count + _MAX_BREAKS
    while count and size <= max_size:
        size += 1
        count -= data[-size] not in _BREAKS
    return 0 if count else size


def _flat(data: bytes) -> bytes:
    """Return ``data`` with escaped line ends replaced by spaces."""
    return data.replace(b"\\n", b"  ").replace(b"\\r", b"  ")


class RedactedStream:
    """Redacts one stream, including secrets that are split across several pieces."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self._removed = 0

    def feed(self, data: bytes) -> bytes:
        """Add ``data``, and return the part that is final. The rest is held back."""
        if not self._redactor and not self._held:
            return data
        final, self._held, self._removed = self._redactor.final(self._held + data, self._removed)
        return final

    def finish(self) -> bytes:
        """Return the rest that was held back, at the end of the stream."""
        held, first, self._held, self._removed = self._held, self._removed, b"", 0
        return self._redactor.data(held, first)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSecrets:
    """The values of a call's secrets by name, and the redactor for all its output."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    redactor: Redactor = field(default_factory=Redactor, repr=False)


def secrets_of(tool: ToolSpec, reveal: Reveal) -> CallSecrets:
    """Return the secrets of a call of ``tool``. Raises ``UsageError`` with the names of secrets without a value."""
    on_host = tool.backend.request is not None or isinstance(tool.backend, AgentBackend)  # toolc makes their requests
    names = [each.name for each in tool.sandbox.secrets if on_host or each.expose != "broker"]
    if not names:
        return CallSecrets()
    try:
        values = reveal(names)
    except UsageError as error:
        raise UsageError(f"tool {tool.name!r} cannot be called:\n{error}") from None
    return CallSecrets(values=values, redactor=Redactor(values))


def no_secrets(names: Iterable[str]) -> Mapping[str, str]:
    """Raise ``UsageError`` for every name. This is a ``Reveal`` without any secrets."""
    raise UsageError("\n".join(f"the secret {name!r} has no value" for name in sorted(names)))


def expose_secrets(plan: Plan, tool: ToolSpec, secrets: CallSecrets) -> Plan:
    """Add the secrets that the spec exposes to ``plan``: as variables, and as files whose paths are in variables."""
    if tool.backend.request is not None:
        return plan
    env, files = [*plan.env], []
    for each in tool.sandbox.secrets:
        if each.expose == "env":
            env.append(EnvVar(name=each.name, value=secrets.values[each.name]))
        elif each.expose == "file":
            path = f"{FOLDER}/{each.name}"
            files.append(SecretFile(path=path, text=secrets.values[each.name]))
            env.append(EnvVar(name=f"{each.name}_FILE", value=f"/tool/{path}"))
    for variable in tool.sandbox.secret_env:
        env.append(EnvVar(name=variable.name, value=variable.value.render({SECRETS: {**secrets.values}})))
    return replace(plan, env=tuple(env), secret_files=tuple(files))


def with_endpoint_secrets(plan: Plan, tool: ToolSpec, secrets: CallSecrets) -> Plan:
    """Add the secrets for requests to an MCP server at a URL to ``plan``. A session ends if one of them changes."""
    call = plan.invocation
    if not isinstance(call, McpCall) or call.endpoint is None:
        return plan
    values = tuple((each, secrets.values[each.name]) for each in tool.sandbox.secrets)
    return replace(plan, invocation=replace(call, secrets=values))


def redact_result(result: ToolResult, redactor: Redactor) -> ToolResult:
    """Return ``result`` without secrets."""
    if not redactor:
        return result
    error = result.error and ToolFailure(result.error.kind, redactor.text(result.error.message))
    structured = result.structured and (redactor.json(result.structured[0]),)
    return ToolResult(
        content=tuple(redact_block(block, redactor) for block in result.content),
        structured=structured,
        error=error,
        # Except for a tool's own details, keys are fixed names that callers look up.
        details={
            key: redactor.json(value) if key == "tool" else redactor.values(value)
            for key, value in result.details.items()
        },
    )


def redact_block(block: Content, redactor: Redactor) -> Content:
    """Return ``block`` without secrets."""
    if isinstance(block, Text):
        return Text(redactor.text(block.text))
    if isinstance(block, Resource):
        # A server may send any type. With a secret removed, it would not be a valid one.
        is_clean = redactor.text(block.mime_type) == block.mime_type
        mime_type = block.mime_type if is_clean else "application/octet-stream"
        return Resource(redactor.data(block.data), mime_type, redactor.text(block.name))
    return replace(block, data=redactor.data(block.data))
