"""Hosts and destinations of a spec, in the form that ``toolc.model.destinations`` gives them."""

from __future__ import annotations

import re
from typing import Final

from toolc.document.map_reader import Findings, string
from toolc.document.nodes import Node
from toolc.model import codes
from toolc.model.destinations import HostError, canonical_host, parse_destination
from toolc.model.spec.sandbox import Destination

_WITH_PORT: Final = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*):[0-9]{1,5}")


def destination(node: Node, what: str, findings: Findings) -> Destination | None:
    """One entry of an allow-list."""
    text = string(node, what, findings)
    if text is None:
        return None
    try:
        return parse_destination(text)
    except HostError as error:
        findings.add(codes.BAD_VALUE, f"{what}: {error}", node.span, error.hint)
        return None


def host(node: Node, what: str, findings: Findings) -> str | None:
    """One exact host, without a port."""
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
            hint = "a secret goes to exact hosts only: list each of them"
        findings.add(codes.BAD_VALUE, f"{what}: {error}", node.span, hint)
        return None


def destination_order(each: Destination) -> tuple[str, int, str]:
    """The order of a list of destinations in a registry."""
    return (each.host, each.port, each.kind)
