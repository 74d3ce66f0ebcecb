"""Read ``issuers`` of the configuration: who issues the JWTs of clients, and what their scopes allow."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from toolc.config.configuration import ClientSettings, Issuer, Scope
from toolc.dataclass import replace
from toolc.document import nodes
from toolc.document.map_reader import Findings, Reader, choice, list_of, mapping, text
from toolc.model import codes
from toolc.model.destinations import is_loopback

_NO_TAGS: Final[tuple[str, ...]] = ()


def issuers(node: nodes.Node, what: str, findings: Findings) -> dict[str, Issuer] | None:
    """Read ``issuers`` of the configuration, a map of their URLs."""
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    found = {entry.key: _issuer(entry, findings) for entry in map_node.entries}
    return {url: issuer for url, issuer in found.items() if issuer is not None}


def with_issuers(
    clients: Mapping[str, ClientSettings], known: Mapping[str, Issuer], node: nodes.Mapping, findings: Findings
) -> dict[str, ClientSettings]:
    """Return the clients, each subject with its issuer. Report a subject whose issuer is not clear."""
    found: dict[str, ClientSettings] = {}
    owners: dict[tuple[str | None, str | None], str] = {}
    for name, client in clients.items():
        if client.subject is None and client.issuer is None:
            found[name] = client
            continue
        issuer = client.issuer or (next(iter(known)) if len(known) == 1 else None)
        owner = owners.setdefault((client.subject, issuer), name)
        problem = hint = ""
        if client.subject is None:
            problem, hint = "has an issuer without a subject", "add 'subject', as in 'sub' of its tokens"
        elif issuer not in known:
            problem, hint = "has a subject, and no issuer that 'issuers' declares", "add 'issuer', and declare it"
        elif owner != name:
            problem, hint = f"has the subject of clients.{owner}", "remove one of them"
        if problem:
            entry = node.entry(name)
            findings.add(codes.BAD_VALUE, f"clients.{name} {problem}", entry.key_span if entry else node.span, hint)
        found[name] = replace(client, issuer=issuer)
    return found


def _issuer(entry: nodes.MappingEntry, findings: Findings) -> Issuer | None:
    what = f"issuers.{entry.key:.100}"
    if urlsplit(entry.key).query or urlsplit(entry.key).fragment or not _is_safe(entry.key):
        hint = "write it as in 'iss' of its tokens, such as https://login.example.com"
        findings.add(codes.BAD_VALUE, f"{entry.key!r:.100} is not the URL of an issuer", entry.key_span, hint)
        return None
    map_node = mapping(entry.value, what, findings)
    if map_node is None:
        return None
    reader = Reader(map_node, what, findings)
    jwks = reader.required("jwks", _url)
    found = Issuer(
        url=entry.key,
        jwks=jwks or "",
        audience=reader.optional("audience", text),
        addresses=reader.default("addresses", list_of(_address), ()),
        scopes=reader.default("scopes", _scopes, {}),
    )
    reader.close()
    return found if jwks else None


def _is_safe(url: str) -> bool:
    """Return whether a URL is HTTPS, or HTTP to this machine, so that no other machine can answer."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        )
    except ValueError:
        return False


def _url(node: nodes.Node, what: str, findings: Findings) -> str | None:
    url = text(node, what, findings)
    if url is not None and not _is_safe(url):
        findings.add(codes.BAD_VALUE, f"{what} is not an https URL", node.span, "write e.g. https://HOST/keys.json")
        return None
    return url


def _address(node: nodes.Node, what: str, findings: Findings) -> str | None:
    written = text(node, what, findings)
    try:
        return None if written is None else str(ipaddress.ip_address(written))
    except ValueError:
        findings.add(codes.BAD_VALUE, f"{what} is not an IP address", node.span, "write e.g. 10.0.0.5")
        return None


def _scopes(node: nodes.Node, what: str, findings: Findings) -> dict[str, Scope] | None:
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    return {entry.key: _scope(entry.value, f"{what}.{entry.key:.100}", findings) for entry in map_node.entries}


def _scope(node: nodes.Node, what: str, findings: Findings) -> Scope:
    map_node = mapping(node, what, findings)
    if map_node is None:
        return Scope(tags=_NO_TAGS)
    reader = Reader(map_node, what, findings)
    role = reader.optional("role", choice(("caller", "reviewer")))
    tags = reader.optional("tags", list_of(text))
    reader.close()
    return Scope(role="reviewer" if role == "reviewer" else "caller", tags=_NO_TAGS if tags is None and role else tags)
