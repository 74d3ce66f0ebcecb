"""Read ``issuers`` of the configuration: the issuers of clients' JWTs, and the rights of their scopes."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from toolc.config.configuration import ClientSettings, Issuer, Role, Scope
from toolc.dataclass import replace
from toolc.document import nodes
from toolc.document.map_reader import Findings, Reader, choice, list_of, map_of, map_parser, text
from toolc.model import codes
from toolc.model.destinations import is_loopback

_ROLES: Final[tuple[Role, ...]] = ("caller", "reviewer")


def issuers(node: nodes.Node, what: str, findings: Findings) -> dict[str, Issuer] | None:
    """Read ``issuers`` of the configuration, a map by URL."""
    for entry in node.entries if isinstance(node, nodes.Mapping) else ():
        if not _is_safe(entry.key) or urlsplit(entry.key).query or urlsplit(entry.key).fragment:
            hint = "write it as in 'iss' of its tokens, such as https://login.example.com"
            findings.add(codes.BAD_VALUE, f"{entry.key!r:.100} is not the URL of an issuer", entry.key_span, hint)
    found = map_of(_issuer)(node, what, findings) or {}
    return {url: replace(issuer, url=url) for url, issuer in found.items()}


def with_issuers(
    clients: Mapping[str, ClientSettings], known: Mapping[str, Issuer], node: nodes.Mapping, findings: Findings
) -> dict[str, ClientSettings]:
    """Return the clients with the issuer of each subject. Report a subject whose issuer is ambiguous."""
    found: dict[str, ClientSettings] = {}
    owners: dict[tuple[str, str | None], str] = {}
    only = next(iter(known)) if len(known) == 1 else None
    for name, client in clients.items():
        issuer = client.issuer or (only if client.subject else None)
        owner = owners.setdefault((client.subject, issuer), name) if client.subject else name
        found[name] = replace(client, issuer=issuer)
        if client.subject is None and issuer:
            problem, hint = "has an issuer without a subject", "add 'subject', as in 'sub' of its tokens"
        elif client.subject and issuer not in known:
            problem, hint = "has a subject, and no issuer that 'issuers' declares", "add 'issuer', and declare it"
        elif owner != name:
            problem, hint = f"has the subject of clients.{owner}", "remove one of them"
        else:
            continue
        entry = node.entry(name)
        findings.add(codes.BAD_VALUE, f"clients.{name} {problem}", entry.key_span if entry else node.span, hint)
    return found


@map_parser()
def _issuer(reader: Reader) -> Issuer:
    return Issuer(
        url="",
        jwks=reader.required("jwks", _url) or "",
        audience=reader.optional("audience", text),
        addresses=reader.default("addresses", list_of(_address), ()),
        scopes=reader.default("scopes", map_of(_scope), {}),
    )


def _is_safe(url: str) -> bool:
    """Return whether a URL is HTTPS, or HTTP to this machine. No other machine can then answer."""
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


@map_parser()
def _scope(reader: Reader) -> Scope:
    role: Role | None = reader.optional("role", choice(_ROLES))
    tags = reader.optional("tags", list_of(text))
    return Scope(role=role or "caller", tags=() if tags is None and role else tags)
