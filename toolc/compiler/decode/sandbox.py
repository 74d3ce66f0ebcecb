"""Decode ``sandbox``: the image, the workspace, environment variables, and limits."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

from toolc.compiler.project.files import MAX_FILES, MAX_TOTAL_BYTES, FileError, SpecFolder, relative_path
from toolc.compiler.project.limits import decode_limits
from toolc.compiler.project.network import decode_network, decode_secrets
from toolc.compiler.schema.parameters import NO_PARAMETERS
from toolc.compiler.templates.credential import is_public, read_public
from toolc.compiler.templates.parse import Scope, parse, read_template
from toolc.document.declared import read_keys
from toolc.document.loader import load_data
from toolc.document.map_reader import Findings, Parse, Reader, choice, list_of, map_parser, mapping, text
from toolc.document.nodes import Mapping, Node, Scalar
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import SpecError
from toolc.model.json_schema import JsonObject
from toolc.model.names import IMAGE_NAME
from toolc.model.source import Span
from toolc.model.spec import sandbox as spec
from toolc.model.spec.code_backends import File
from toolc.model.text import lazy_re, render_size

_VARIABLE: Final = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET: Final = Scope(parameters=NO_PARAMETERS, allows_secrets=True)

_PROFILE: Final = "profile.yaml"
"""The name of the text of a profile, which is not a file."""

RECIPE: Final = "Dockerfile"
"""The file with the instructions for building an image."""

_IMAGE_URL: Final = lazy_re(r"(?i)[a-z]+://(?P<host>[^/]*)/?(?P<path>[^?#:]*)")

_MODE: Final[Parse[spec.WorkspaceMode]] = choice(get_args(spec.WorkspaceMode))

TMP_HEADROOM_BYTES: Final = 16 * spec.MIB
"""The minimum difference between ``memory`` and ``tmp``, in bytes: files in /tmp count as memory.

A Python without modules needs about that much.
"""


def decode_env(node: Node, what: str, findings: Findings, *, allows_secrets: bool) -> dict[str, object] | None:
    """Return the fields ``env`` and ``secret_env``, each sorted by name.

    ``allows_secrets`` is true if values may contain ``{{ secrets.NAME }}``.
    """
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    constants: list[spec.EnvVar] = []
    secrets: list[spec.SecretEnvVar] = []
    for entry in map_node.entries:
        what = f"env.{entry.key}"
        if not _VARIABLE.fullmatch(entry.key):
            message = f"'{entry.key[:80]}' cannot be the name of a variable"
            findings.add(codes.BAD_VALUE, message, entry.key_span, "use letters, digits and _")
        elif entry.key.startswith("ARG_"):
            message = f"'{entry.key}' is reserved: variables that begin with ARG_ are a script's parameters"
            findings.add(codes.BAD_VALUE, message, entry.key_span)
        if is_public(entry.value):
            public = read_public(entry.value, what, findings)
            secrets += [spec.SecretEnvVar(name=entry.key, value=public)] if public is not None else []
        elif allows_secrets and _names_secret(entry.value):
            template = read_template(entry.value, what, findings, _SECRET)
            secrets += [spec.SecretEnvVar(name=entry.key, value=template)] if template is not None else []
        else:
            value = _constant(entry.value, what, findings)
            constants += [spec.EnvVar(name=entry.key, value=value)] if value is not None else []
    return {
        "env": tuple(sorted(constants, key=lambda variable: variable.name)),
        "secret_env": tuple(sorted(secrets, key=lambda variable: variable.name)),
    }


def decode_image(node: Node, what: str, findings: Findings) -> str | None:
    """Decode ``image``. The image is looked up when the tool runs."""
    name = text(node, what, findings)
    if name is not None and (url := _IMAGE_URL.match(name)):
        message = f"{what} is a URL, not an image name: {name[:80]!r}"
        meant = re.sub("^(?:r|u|_|layers|tags)/", "", url["path"]) if url["host"].startswith("hub.") else ""
        hint = f"write the name of the image instead, such as {meant or url['host'] + '/' + url['path']}:VERSION"
        findings.add(codes.BAD_VALUE, message, node.span, hint[:200])
        return None
    if name is not None and not IMAGE_NAME.fullmatch(name):
        message = f"{what} is not an image name: {name[:80]!r}"
        findings.add(codes.BAD_VALUE, message, node.span, "write e.g. debian:bookworm")
        return None
    return name


def decode_build(node: Node, what: str, findings: Findings, *, folder: SpecFolder) -> spec.Build | None:
    """Decode ``build``. Its files are part of the tool, so that what was reviewed is what is built."""
    name = text(node, what, findings)
    if name is None:
        return None
    try:
        path = relative_path(name)
        files = tuple(folder.read(each) for each in folder.match(f"{path}/**/*"))
    except FileError as problem:
        findings.add(codes.FILE, str(problem), node.span, "name a folder next to the spec")
        return None
    if not any(file.path == f"{path}/{RECIPE}" for file in files):
        message = f"there is no {RECIPE} in {folder.display_path_of(path)}"
        findings.add(codes.FILE, message, node.span, f"add one, or name the folder that has the {RECIPE}")
        return None
    if len(files) > MAX_FILES or sum(map(file_size, files)) > MAX_TOTAL_BYTES:
        message = f"{folder.display_path_of(path)} has more than {MAX_FILES} files or {render_size(MAX_TOTAL_BYTES)}"
        findings.add(codes.FILE, message, node.span, "remove files that the image does not need")
        return None
    return spec.Build(folder=path, files=files)


def file_size(file: File) -> int:
    """Return the size of a file of a tool in bytes."""
    return len(file.text.encode() if file.text is not None else file.base64 or "")


def decode_workspace(node: Node, what: str, findings: Findings) -> dict[str, object] | None:
    """Return the fields ``workspace`` and ``transaction``, which is None for another mode."""
    if not isinstance(node, Mapping):
        found: dict[str, Any] = {"mode": _MODE(node, what, findings)}
    else:
        reader = Reader(node, "sandbox.workspace", findings)
        found = read_keys(reader, spec.TransactionSpec, writes=workspace_patterns)
        reader.close()
    mode = found.pop("mode", None)
    for key in ("commit", "writes"):
        if mode not in {None, "transaction"} and isinstance(node, Mapping) and (entry := node.entry(key)):
            message = f"'{key}' applies to transactions, but the mode of this workspace is '{mode}'"
            findings.add(codes.BAD_VALUE, message, entry.key_span, f"write mode: transaction, or remove '{key}'")
    transaction = spec.TransactionSpec(**found) if mode == "transaction" else None
    return None if mode is None else {"workspace": mode, "transaction": transaction}


def workspace_patterns(node: Node, what: str, findings: Findings) -> tuple[str, ...] | None:
    """Decode a list of patterns of workspace files, without duplicates and sorted."""
    patterns = list_of(_pattern)(node, what, findings)
    return None if patterns is None else tuple(sorted(set(patterns)))


def workspace_path(path: str, span: Span, findings: Findings, hint: str) -> str | None:
    """Return a normalized path in the workspace. For any other path, report a finding with ``hint`` and return None."""
    try:
        return relative_path(path)
    except FileError as problem:
        findings.add(codes.BAD_VALUE, str(problem).replace("the spec's folder", "the workspace"), span, hint)
        return None


@map_parser("sandbox")
def decode_sandbox(reader: Reader, *, folder: SpecFolder, is_plugin: bool) -> spec.SandboxSpec | None:
    """Decode ``sandbox``. Every key has a default. The environment of a plugin may contain secrets."""
    found = read_keys(
        reader, spec.SandboxSpec, image=decode_image, build=partial(decode_build, folder=folder),
        workspace=decode_workspace, network=decode_network, env=partial(decode_env, allows_secrets=is_plugin),
        secrets=decode_secrets, limits=_limits,
    )  # fmt: skip
    sandbox = spec.SandboxSpec(**found | found.pop("workspace", {}) | found.pop("env", {}))
    if sandbox.limits.workspace_bytes is not None and sandbox.workspace not in spec.WRITABLE:
        _report_workspace_limit(reader)
    return sandbox


def decode_profile(profile: JsonObject, folder: Path) -> spec.SandboxSpec:
    """Decode a sandbox that a program declares, with the keys of ``sandbox``. Raises ``SpecError``.

    ``folder`` contains the folder that the key ``build`` names.
    """
    diagnostics = Diagnostics()
    document = load_data(json.dumps(profile).encode(), folder / _PROFILE, _PROFILE, diagnostics)
    sandbox: spec.SandboxSpec | None = None
    if document is not None:
        findings = Findings(document.source, diagnostics)
        in_folder = partial(decode_sandbox, folder=SpecFolder(folder, ""), is_plugin=False)
        sandbox = in_folder(document.root, "the profile", findings)
    if sandbox is None or diagnostics.has_errors:
        found = diagnostics.sorted()
        messages = [f"{each.message}; {each.hint}" if each.hint else each.message for each in found if each.is_error]
        raise SpecError(f"the profile of the sandbox is invalid: {'. '.join(messages)}", found)
    return sandbox


def _report_workspace_limit(reader: Reader) -> None:
    limits = reader.node.entry("limits")
    entry = limits.value.entry("workspace") if limits and isinstance(limits.value, Mapping) else None
    if entry:
        message = "'limits.workspace' limits what a call writes, but the tool cannot write to a workspace"
        reader.findings.add(codes.LIMIT, message, entry.key_span, "remove it, or write workspace: rw or transaction")


def _names_secret(node: Node) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, str) and bool(parse(node.value).template.secrets)


def _constant(node: Node, what: str, findings: Findings) -> str | None:
    if isinstance(node, Scalar) and node.value == "":
        return ""
    value = text(node, what, findings)
    if value is None or "{{" not in value:
        return value
    message = "an environment variable is a constant and cannot contain a placeholder"
    hint = "pass parameters through 'argv' or 'stdin'; a script receives them as ARG_<name>"
    if secrets := sorted(parse(value).template.secrets):
        hint = f"'secrets: {{{secrets[0]}: {{expose: env}}}}' sets the variable {secrets[0]} to its value"
    findings.add(codes.TEMPLATE, message, findings.locate(node.span, "{{"), hint)
    return None


def _pattern(node: Node, what: str, findings: Findings) -> str | None:
    pattern = text(node, what, findings)
    hint = "write it relative to the workspace, e.g. src/**"
    return None if pattern is None else workspace_path(pattern, node.span, findings, hint)


def _limits(node: Node, what: str, findings: Findings) -> spec.Limits | None:
    errors = findings.errors
    limits = decode_limits(node, what, findings, "sandbox.limits")
    if limits is not None and isinstance(node, Mapping) and findings.errors == errors:
        _check_tmp(limits, node, findings)
    return limits


def _check_tmp(limits: spec.Limits, node: Mapping, findings: Findings) -> None:
    if limits.tmp_bytes + TMP_HEADROOM_BYTES <= limits.memory_bytes:
        return
    entry = node.entry("tmp") or node.entry("memory")
    assert entry is not None  # the standard limits are consistent
    tmp, memory = render_size(limits.tmp_bytes), render_size(limits.memory_bytes)
    message = f"'tmp' ({tmp}) must be at least {render_size(TMP_HEADROOM_BYTES)} less than 'memory' ({memory})"
    hint = f"files in /tmp count as memory; write memory: {render_size(limits.tmp_bytes + TMP_HEADROOM_BYTES)}"
    if limits.memory_bytes > TMP_HEADROOM_BYTES + 1023:
        hint += f" or more, or tmp: {render_size(limits.memory_bytes - TMP_HEADROOM_BYTES)} or less"
    findings.add(codes.LIMIT, message, entry.value.span, hint)
