"""Decode ``sandbox.network`` and ``sandbox.secrets``: allowed destinations, and secrets with their hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolc.document.declared import read_keys
from toolc.document.map_reader import Findings, Reader, first_line, list_of, mapping, mismatch, string
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar
from toolc.document.suggestions import replaced_keys
from toolc.model import codes
from toolc.model.destinations import HostError, canonical_host, parse_destination
from toolc.model.spec.sandbox import Destination, NetworkSpec, SecretSpec
from toolc.model.text import lazy_re

_WITH_PORT: Final = lazy_re(r"(?P<host>\[[^\]]*\]|[^:\[\]]*):[0-9]{1,5}")

_NAME: Final = lazy_re(r"(?i)[A-Z][A-Z0-9_]{0,63}")


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


def allow_entry(node: Node, what: str, findings: Findings) -> Destination | None:
    """Decode one entry of an allow-list: a destination, or a map with a destination and ``any_host``."""
    if not isinstance(node, Mapping):
        return destination(node, what, findings)
    reader = Reader(node, what, findings)
    found = read_keys(reader, Destination, to=destination)
    reader.close()
    to = found.pop("to", None)
    return None if to is None else replace(to, **found)


def written_entry(node: Node) -> Destination | None:
    """Return the destination of an entry of an allow-list, or None if it is invalid."""
    if isinstance(node, Mapping):
        to, any_host = node.entry("to"), node.entry("any_host")
        found = written_entry(to.value) if to else None
        is_set = any_host is not None and isinstance(any_host.value, Scalar) and any_host.value.value is True
        return None if found is None else replace(found, any_host=is_set)
    try:
        return parse_destination(str(node.value)) if isinstance(node, Scalar) else None
    except HostError:
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


def destination_order(each: Destination) -> tuple[str, int, str, bool]:
    """Return the sort key of destinations in a registry."""
    return (each.host, each.port, each.kind, each.any_host)


def decode_network(node: Node, what: str, findings: Findings) -> NetworkSpec | None:
    """Decode ``network``. An empty ``allow`` list allows nothing."""
    if not isinstance(node, Mapping):
        hint = "write {allow: [api.example.com:443]}; remove 'network' if the tool needs none"
        mismatch(node, what, "a map", findings, hint)
        return None
    reader = Reader(node, "sandbox.network", findings)
    network = NetworkSpec(**read_keys(reader, NetworkSpec, allow=allow_entries))
    reader.close()
    return network


def destinations(node: Node, what: str, findings: Findings) -> tuple[Destination, ...] | None:
    """Decode a list of destinations, without duplicates and sorted."""
    return _sorted(list_of(destination)(node, what, findings))


def allow_entries(node: Node, what: str, findings: Findings) -> tuple[Destination, ...] | None:
    """Decode an allow-list, without duplicates and sorted."""
    return _sorted(list_of(allow_entry)(node, what, findings))


def _sorted(found: tuple[Destination, ...] | None) -> tuple[Destination, ...] | None:
    return None if found is None else tuple(sorted(set(found), key=destination_order))


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
    secret = SecretSpec(name=entry.key, **read_keys(reader, SecretSpec, hosts=list_of(host)))
    reader.close()
    if secret.expose == "broker" and not entry.value.entry("hosts") and not replaced_keys(entry.value, SecretSpec):
        message = f"the broker has no host to which it may send '{entry.key}'"
        findings.add(
            codes.MISSING_KEY, message, first_line(entry.value.span),
            "add hosts: [api.example.com], or if the tool itself needs the value, expose: env",
        )  # fmt: skip
    return secret
