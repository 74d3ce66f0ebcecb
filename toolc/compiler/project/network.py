"""Decode ``sandbox.network`` and ``sandbox.secrets``: allowed destinations, and secrets with their hosts."""

from __future__ import annotations

import re
from typing import Final, get_args

from toolc.document.map_reader import Findings, Reader, choice, first_line, list_of, mapping, mismatch, string
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar
from toolc.model import codes
from toolc.model.destinations import HostError, canonical_host, parse_destination
from toolc.model.spec.sandbox import Destination, Expose, NetworkSpec, SecretSpec

_WITH_PORT: Final = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*):[0-9]{1,5}")

_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}", re.IGNORECASE)


def destination(node: Node, what: str, findings: Findings) -> Destination | None:
    """Decode one destination of an allow-list."""
    text = string(node, what, findings)
    if text is None:
        return None
    try:
        return parse_destination(text)
    except HostError as error:
        findings.add(codes.BAD_VALUE, f"{what}: {error}", node.span, error.hint)
        return None


def host(node: Node, what: str, findings: Findings) -> str | None:
    """Decode one exact host name without a port."""
    text = string(node, what, findings)
    if text is None:
        return None
    try:
        return canonical_host(text)
    except HostError as error:
        hint = error.hint
        if match := _WITH_PORT.fullmatch(text):
            hint = f"a secret's hosts have no port: write {match['host']}"
        elif text.startswith("*"):
            hint = "a secret is sent to exact hosts only: list each of them"
        findings.add(codes.BAD_VALUE, f"{what}: {error}", node.span, hint)
        return None


def destination_order(each: Destination) -> tuple[str, int, str]:
    """Return the sort key of destinations in a registry."""
    return (each.host, each.port, each.kind)


def decode_network(node: Node, what: str, findings: Findings) -> NetworkSpec | None:
    """Decode ``network``; an empty ``allow`` list allows nothing."""
    if not isinstance(node, Mapping):
        hint = "write {allow: [api.example.com:443]}; remove 'network' if the tool needs none"
        mismatch(node, what, "a map", findings, hint)
        return None
    reader = Reader(node, "sandbox.network", findings)
    network = NetworkSpec(allow=reader.default("allow", destinations, ()))
    reader.close()
    return network


def destinations(node: Node, what: str, findings: Findings) -> tuple[Destination, ...] | None:
    """Decode a list of destinations; duplicates are removed and the result is sorted."""
    decoded = list_of(destination)(node, what, findings)
    return None if decoded is None else tuple(sorted(set(decoded), key=destination_order))


def decode_secrets(node: Node, what: str, findings: Findings) -> tuple[SecretSpec, ...] | None:
    """Decode ``secrets``, a map from names to the hosts that may receive their values."""
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    secrets = (_secret(entry, findings) for entry in map_node.entries)
    return tuple(sorted((each for each in secrets if each is not None), key=lambda secret: secret.name))


def _secret(entry: MappingEntry, findings: Findings) -> SecretSpec | None:
    what = f"secrets.{entry.key}"
    if not _NAME.fullmatch(entry.key):
        message = f"'{entry.key[:80]}' cannot be the name of a secret"
        findings.add(codes.BAD_VALUE, message, entry.key_span, "use letters, digits and _, e.g. API_TOKEN")
        return None
    if not isinstance(entry.value, Mapping):
        hint = "a spec names secrets and never contains their values: write {hosts: [api.example.com]}"
        is_value = isinstance(entry.value, Scalar) and isinstance(entry.value.value, str)
        code = codes.CREDENTIAL if is_value else codes.BAD_VALUE
        findings.add(code, f"{what} must be a map", entry.value.span, hint)
        return None
    reader = Reader(entry.value, what, findings)
    hosts = reader.optional("hosts", list_of(host)) or ()
    expose: Expose = reader.default("expose", choice(get_args(Expose)), "broker")
    reader.close()
    if expose == "broker" and not entry.value.entry("hosts"):
        message = f"the broker has no host to which it may send '{entry.key}'"
        findings.add(
            codes.MISSING_KEY, message, first_line(entry.value.span),
            "add hosts: [api.example.com], or if the tool itself needs the value, expose: env",
        )  # fmt: skip
    return SecretSpec(name=entry.key, hosts=tuple(sorted(set(hosts))), expose=expose)
