"""``sandbox``: the image, the workspace, constants of the environment, and the limits."""

from __future__ import annotations

import re
from typing import Final, get_args

from toolc.compiler import codes
from toolc.compiler.document import Mapping, Node, Scalar
from toolc.compiler.reader import Findings, Parse, Reader, choice, integer, mapping, mismatch, text, unsupported
from toolc.compiler.units import duration, render_size, size
from toolc.spec import MIB, EnvVar, Limits, MinIsolation, Sandbox, WorkspaceMode

TMP_HEADROOM_BYTES: Final = 16 * MIB
"""How far ``memory`` must exceed ``tmp``: what is written to /tmp counts as memory, and so does the tool."""

MIN_PIDS: Final = 4
"""The supervisor, the call, and the two that a script with a pipe starts: with fewer, hardly a tool can run."""

MIN_FILES: Final = 16
"""What Python and a shell open themselves, with a little to spare."""

MIN_TIMEOUT_MS: Final = 100
"""Ten times what a Python function that does nothing takes; a busy machine takes its share of that."""

_MODE: Final[Parse[WorkspaceMode]] = choice(get_args(WorkspaceMode))
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IMAGE: Final = re.compile(r"[a-z0-9][A-Za-z0-9._:/@-]*")
_MANY: Final = 1_000_000


def decode_sandbox(node: Node, what: str, findings: Findings) -> Sandbox | None:
    """Decode ``sandbox``; every key has a default."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "sandbox", findings)
    reader.unsupported("build", "network", "secrets")
    _refuse_session(reader)
    sandbox = Sandbox(
        image=reader.optional("image", _image),
        workspace=reader.default("workspace", _workspace, "none"),
        env=reader.default("env", _env, ()),
        limits=reader.default("limits", _limits, Limits()),
        min_isolation=reader.default("min_isolation", choice(get_args(MinIsolation)), "namespace"),
        run_as=reader.optional("run_as", choice(("nonroot",))),
    )
    reader.close()
    return sandbox


def _refuse_session(reader: Reader) -> None:
    entry = reader.node.entry("lifetime")
    if entry and isinstance(entry.value, Scalar) and entry.value.value == "session":
        unsupported("lifetime: session", entry.value.span, reader.findings)
        reader.get("lifetime")
    else:
        reader.optional("lifetime", choice(("call", "session")))


def _image(node: Node, what: str, findings: Findings) -> str | None:
    name = text(node, what, findings)
    if name is not None and not _IMAGE.fullmatch(name):
        findings.add(
            codes.BAD_VALUE, f"{what} is no image name: {name[:80]!r}", node.span, "write e.g. debian:bookworm"
        )
        return None
    return name


def _workspace(node: Node, what: str, findings: Findings) -> WorkspaceMode | None:
    if not isinstance(node, Mapping):
        return _mode(node, what, findings)
    reader = Reader(node, "sandbox.workspace", findings)
    reader.unsupported("commit", "writes")
    mode: WorkspaceMode | None = reader.required("mode", _mode)
    reader.close()
    return mode


def _mode(node: Node, what: str, findings: Findings) -> WorkspaceMode | None:
    if isinstance(node, Scalar) and node.value == "transaction":
        unsupported("workspace: transaction", node.span, findings)
        return None
    return _MODE(node, what, findings)


def _env(node: Node, what: str, findings: Findings) -> tuple[EnvVar, ...] | None:
    found = mapping(node, what, findings)
    if found is None:
        return None
    variables: list[EnvVar] = []
    for entry in found.entries:
        value = _env_value(entry.value, f"env.{entry.key}", findings)
        if not _VARIABLE.fullmatch(entry.key):
            message = f"'{entry.key[:80]}' cannot be the name of a variable"
            findings.add(codes.BAD_VALUE, message, entry.key_span, "use letters, digits and _")
        elif entry.key.startswith("ARG_"):
            message = f"'{entry.key}' is reserved: variables that begin with ARG_ are a script's parameters"
            findings.add(codes.BAD_VALUE, message, entry.key_span)
        elif value is not None:
            variables.append(EnvVar(name=entry.key, value=value))
    return tuple(sorted(variables, key=lambda variable: variable.name))


def _env_value(node: Node, what: str, findings: Findings) -> str | None:
    if isinstance(node, Scalar) and node.value == "":
        return ""
    value = text(node, what, findings)
    if value is not None and "{{" in value:
        message = "a variable of the environment is a constant: no placeholder can stand here"
        hint = "pass parameters by 'argv' or 'stdin'; a script has them as ARG_<name>"
        findings.add(codes.TEMPLATE, message, findings.locate(node.span, "{{"), hint)
        return None
    return value


def _limits(node: Node, what: str, findings: Findings) -> Limits | None:
    found = mapping(node, what, findings)
    if found is None:
        return None
    errors = findings.errors
    reader = Reader(found, "sandbox.limits", findings)
    standard = Limits()
    limits = Limits(
        timeout_ms=reader.default("timeout", _timeout, standard.timeout_ms),
        memory_bytes=reader.default("memory", size, standard.memory_bytes),
        cpus=reader.default("cpus", _cpus, standard.cpus),
        pids=reader.default("pids", integer(MIN_PIDS, _MANY), standard.pids),
        output_bytes=reader.default("output", size, standard.output_bytes),
        tmp_bytes=reader.default("tmp", size, standard.tmp_bytes),
        files=reader.default("files", integer(MIN_FILES, _MANY), standard.files),
        file_size_bytes=reader.default("file_size", size, standard.file_size_bytes),
    )
    reader.close()
    if findings.errors == errors:
        _check_tmp(limits, found, findings)
    return limits


def _timeout(node: Node, what: str, findings: Findings) -> int | None:
    timeout_ms = duration(node, what, findings)
    if timeout_ms is not None and timeout_ms < MIN_TIMEOUT_MS:
        mismatch(node, what, f"at least {MIN_TIMEOUT_MS}ms", findings)
        return None
    return timeout_ms


def _check_tmp(limits: Limits, node: Mapping, findings: Findings) -> None:
    if limits.tmp_bytes + TMP_HEADROOM_BYTES <= limits.memory_bytes:
        return
    entry = node.entry("tmp") or node.entry("memory")
    assert entry is not None  # the standard limits hold together
    tmp, memory = render_size(limits.tmp_bytes), render_size(limits.memory_bytes)
    message = f"'tmp' ({tmp}) must be at least {render_size(TMP_HEADROOM_BYTES)} less than 'memory' ({memory})"
    hint = f"what is in /tmp counts as memory; write memory: {render_size(limits.tmp_bytes + TMP_HEADROOM_BYTES)}"
    if limits.memory_bytes > TMP_HEADROOM_BYTES + 1023:
        hint += f" or more, or tmp: {render_size(limits.memory_bytes - TMP_HEADROOM_BYTES)} or less"
    findings.add(codes.LIMIT, message, entry.value.span, hint)


def _cpus(node: Node, what: str, findings: Findings) -> float | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.01 <= value <= 1024:
        return float(value)
    mismatch(node, what, "a number of processors from 0.01 to 1024, such as 0.5", findings)
    return None
