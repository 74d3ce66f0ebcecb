"""Read the configuration file and the file of ``--secrets`` as YAML or TOML, with the positions of mistakes."""

from __future__ import annotations

from pathlib import Path

from toolc.config.configuration import (
    AUDIT_FILE_BYTES,
    MAX_QUOTA,
    MAX_WARM,
    WORKSPACE_GROWTH_BYTES,
    AuditSettings,
    ClientSettings,
    Configuration,
)
from toolc.config.issuers import issuers, with_issuers
from toolc.config.secret_sources import CommandSource, EnvSource, FileSource, LiteralSource, SecretSource
from toolc.document import nodes
from toolc.document.loader import load_project
from toolc.document.map_reader import Findings, Reader, boolean, choice, integer, list_of, map_of, map_parser, text
from toolc.document.units import size
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.names import AUTO, IMAGE_NAME, engine_names
from toolc.model.plan import LIMITS


def read_configuration(path: Path) -> Configuration:
    """Read the configuration file. Raises ``UsageError`` with the positions."""
    diagnostics = Diagnostics()
    document = load_project(path, str(path), diagnostics, what="the configuration")
    configuration = _configuration(document, Findings(document.source, diagnostics)) if document else Configuration()
    if diagnostics.has_errors:
        problems = (each for each in diagnostics.sorted() if each.is_error)
        lines = (f"{each.span}: {each.message}{f'; {each.hint}' if each.hint else ''}" for each in problems)
        raise UsageError("\n".join(lines))
    return configuration


def _image(node: nodes.Node, what: str, findings: Findings) -> str | None:
    name = text(node, what, findings)
    if name is not None and ("://" in name or not IMAGE_NAME.fullmatch(name)):
        findings.add(codes.BAD_VALUE, f"{what} is not an image name: {name[:80]!r}", node.span, "write e.g. debian:12")
        return None
    return name


def _configuration(document: nodes.Document, findings: Findings) -> Configuration:
    reader = Reader(document.root, "the configuration", findings)
    known = reader.optional("issuers", issuers) or {}
    clients = reader.optional("clients", map_of(_client)) or {}
    if isinstance(node := reader.get("clients"), nodes.Mapping):
        clients = with_issuers(clients, known, node, findings)
    configuration = Configuration(
        engine=reader.default("engine", choice(engine_names()), AUTO),
        accept_unenforced=reader.default("accept_unenforced", list_of(choice(LIMITS)), ()),
        workspace_growth_bytes=reader.default("workspace_growth", size, WORKSPACE_GROWTH_BYTES),
        secrets=reader.default("secrets", map_of(_source), {}),
        base_image=reader.optional("base_image", _image),
        host_programs=reader.default("host_programs", boolean, False),
        warm=reader.default("warm", map_of(integer(0, MAX_WARM)), {}),
        clients=clients,
        issuers=known,
        audit=reader.optional("audit", _audit),
    )
    reader.close()
    return configuration


@map_parser()
def _audit(reader: Reader) -> AuditSettings:
    return AuditSettings(
        folder=reader.optional("folder", _folder),
        arguments=reader.default("arguments", choice(("hmac", "shape")), "hmac"),
        when_full=reader.default("when_full", choice(("refuse", "run")), "refuse"),
        max_file_bytes=reader.default("max_file", size, AUDIT_FILE_BYTES),
    )


@map_parser()
def _client(reader: Reader) -> ClientSettings:
    number = integer(1, MAX_QUOTA)
    return ClientSettings(
        workspace=reader.optional("workspace", _folder),
        secrets=reader.default("secrets", map_of(_source), {}),
        tags=reader.optional("tags", list_of(text)),
        deny=reader.default("deny", list_of(text), ()),
        rate=reader.optional("rate", number),
        concurrent=reader.optional("concurrent", number),
        sandboxes=reader.optional("sandboxes", number),
        subject=reader.optional("subject", text),
        issuer=reader.optional("issuer", text),
    )


def _absolute(node: nodes.Node, what: str, findings: Findings) -> str | None:
    path = text(node, what, findings)
    if path is not None and not path.startswith(("/", "~")):
        findings.add(codes.BAD_VALUE, f"{what} is not an absolute path", node.span, "start it with / or ~")
        return None
    return path


def _folder(node: nodes.Node, what: str, findings: Findings) -> Path | None:
    path = _absolute(node, what, findings)
    return None if path is None else Path(path).expanduser()


def load_secrets(path: Path) -> dict[str, SecretSource]:
    """Read the file of ``--secrets``, which is YAML, or TOML by its suffix. Raises ``UsageError`` with the position."""
    if not path.exists():
        raise UsageError(f"{path} does not exist; --secrets needs a file with lines such as NAME: value")
    diagnostics = Diagnostics()
    document = load_project(path, str(path), diagnostics, what="a secrets file")
    if document is None:
        # The message of the finding is not shown, because it could contain a secret value.
        span = diagnostics.sorted()[0].span
        raise UsageError(f"{span}: cannot be read; write lines such as NAME: value, with values in quotes")
    findings = Findings(document.source, diagnostics)
    sources: dict[str, SecretSource] = {}
    for entry in document.root.entries:
        value = entry.value.value if isinstance(entry.value, nodes.Scalar) else None
        if isinstance(value, str):
            sources[entry.key] = LiteralSource(value)
        elif isinstance(entry.value, nodes.Scalar):
            raise UsageError(f"{entry.value.span}: the value of {entry.key!r} is not a string; write it in quotes")
        elif source := _source(entry.value, entry.key, findings):
            sources[entry.key] = source
    problems = [f"{each.span}: {each.message}" for each in diagnostics.sorted() if each.is_error]
    if problems:
        raise UsageError("\n".join(problems))
    return sources


def _source(node: nodes.Node, what: str, findings: Findings) -> SecretSource | None:
    if not isinstance(node, nodes.Mapping):
        message = f"{what} must be the source of the value, not the value itself"
        findings.add(codes.BAD_VALUE, message, node.span, "write {env: NAME}, {file: PATH} or {command: [PROGRAM]}")
        return None
    reader = Reader(node, what, findings)
    source: SecretSource | None = None
    match reader.one_of("env", "file", "command"):
        case "env":
            variable = reader.optional("env", text)
            source = EnvSource(variable) if variable else None
        case "file":
            path = reader.optional("file", _absolute)
            source = FileSource(path) if path else None
        case "command":
            argv = reader.optional("command", list_of(text))
            source = CommandSource(argv) if argv else None
        case _:
            pass
    reader.close()
    return source
