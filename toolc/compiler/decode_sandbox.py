"""``sandbox``: the image, the workspace, constants of the environment, and the limits."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal, get_args

from toolc.compiler.decode_env import NO_VARIABLES, decode_env
from toolc.compiler.decode_image import decode_build, decode_image
from toolc.compiler.decode_network import decode_network, decode_secrets
from toolc.compiler.decode_workspace import NO_WORKSPACE, decode_workspace
from toolc.compiler.files import Folder
from toolc.document.map_reader import Findings, Parse, Reader, choice, integer, mapping, mismatch
from toolc.document.nodes import Mapping, Node, Scalar
from toolc.document.units import duration, render_size, size
from toolc.model import codes
from toolc.model.spec.sandbox import MIB, Lifetime, Limits, MinIsolation, NetworkSpec, SandboxSpec

TMP_HEADROOM_BYTES: Final = 16 * MIB
"""How far ``memory`` must exceed ``tmp``: what is written to /tmp counts as memory, and so does the tool."""

MIN_PIDS: Final = 16
"""A container runtime's own threads count until process 1 is run: on a busy machine there are 6 at times."""

MIN_FILES: Final = 16
"""What Python and a shell open themselves, with a little to spare."""

MIN_TIMEOUT_MS: Final = 100
"""Ten times what a Python function that does nothing takes; a busy machine takes its share of that."""

_MANY: Final = 1_000_000
_LIFETIME: Final[Parse[Lifetime]] = choice(get_args(Lifetime))
_MIN_ISOLATION: Final[Parse[MinIsolation]] = choice(get_args(MinIsolation))
_RUN_AS: Final[Parse[Literal["nonroot"]]] = choice(("nonroot",))
_PIDS: Final = integer(MIN_PIDS, _MANY)
_FILES: Final = integer(MIN_FILES, _MANY)
_STANDARD: Final = Limits()
_NO_NETWORK: Final = NetworkSpec()


def decode_sandbox(
    node: Node, what: str, findings: Findings, *, folder: Folder, is_plugin: bool
) -> SandboxSpec | None:
    """Decode ``sandbox``; every key has a default. A plugin's environment may hold secrets."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "sandbox", findings)
    workspace = reader.default("workspace", decode_workspace, NO_WORKSPACE)
    env = reader.default("env", partial(decode_env, takes_secrets=is_plugin), NO_VARIABLES)
    sandbox = SandboxSpec(
        image=reader.optional("image", decode_image),
        build=reader.optional("build", partial(decode_build, folder=folder)),
        workspace=workspace.mode,
        transaction=workspace.transaction,
        network=reader.default("network", decode_network, _NO_NETWORK),
        env=env.constants,
        secret_env=env.secrets,
        secrets=reader.default("secrets", decode_secrets, ()),
        limits=reader.default("limits", _limits, _STANDARD),
        lifetime=reader.default("lifetime", _LIFETIME, "call"),
        min_isolation=reader.default("min_isolation", _MIN_ISOLATION, "namespace"),
        run_as=reader.optional("run_as", _RUN_AS),
    )
    reader.close()
    if found.entry("image") and (build := found.entry("build")):
        message = "a sandbox has an 'image' or a 'build', and this one has both"
        findings.add(codes.BAD_VALUE, message, build.key_span, "keep one")
    return sandbox


def _limits(node: Node, what: str, findings: Findings) -> Limits | None:
    errors = findings.errors
    limits = decode_limits(node, what, findings, "sandbox.limits")
    if limits is not None and isinstance(node, Mapping) and findings.errors == errors:
        _check_tmp(limits, node, findings)
    return limits


def decode_limits(node: Node, what: str, findings: Findings, of: str) -> Limits | None:
    """Decode a map of limits, which findings call ``of``; one that is absent has its default."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, of, findings)
    limits = Limits(
        timeout_ms=reader.default("timeout", _timeout, _STANDARD.timeout_ms),
        memory_bytes=reader.default("memory", size, _STANDARD.memory_bytes),
        cpus=reader.default("cpus", _cpus, _STANDARD.cpus),
        pids=reader.default("pids", _PIDS, _STANDARD.pids),
        output_bytes=reader.default("output", size, _STANDARD.output_bytes),
        tmp_bytes=reader.default("tmp", size, _STANDARD.tmp_bytes),
        files=reader.default("files", _FILES, _STANDARD.files),
        file_size_bytes=reader.default("file_size", size, _STANDARD.file_size_bytes),
    )
    reader.close()
    return limits


def _timeout(node: Node, what: str, findings: Findings) -> int | None:
    timeout_ms = duration(node, what, findings)
    if timeout_ms is not None and timeout_ms < MIN_TIMEOUT_MS:
        message = f"{what} is too short for any call: {timeout_ms}ms"
        findings.add(codes.BAD_VALUE, message, node.span, f"write {MIN_TIMEOUT_MS}ms or more")
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
