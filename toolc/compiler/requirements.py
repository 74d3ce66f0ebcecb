"""``requirements`` of a Python tool: packages, each of one version, so that a review covers what is installed."""

from __future__ import annotations

import re
from typing import Final

from toolc.document.map_reader import Findings, sequence, text
from toolc.document.nodes import Node
from toolc.model import codes

_REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?P<extras>\[[A-Za-z0-9._, -]*\])?==(?P<version>\S+)"
)
# PEP 440, without what a build of one's own adds ("1.2.3+local"): an index has no such version.
_VERSION: Final = re.compile(
    r"(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*(?:[-_.]?(?:a|b|rc|post|dev)[-_.]?[0-9]*)*", re.IGNORECASE
)
_HASH: Final = re.compile(r"--hash=sha256:[0-9a-f]{64}")
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def requirements(node: Node, what: str, findings: Findings) -> tuple[str, ...] | None:
    """A list of ``name==version``, in canonical form, each package once, sorted.

    Each may carry the digests of its wheels, as pip takes them (``--hash=sha256:...``): then all must.
    """
    found = sequence(node, what, findings)
    if found is None:
        return None
    kept: dict[str, tuple[str, Node]] = {}
    for index, item in enumerate(found.items):
        pinned = _requirement(item, f"{what}[{index}]", findings)
        if pinned is None:
            continue
        name = re.split(r"[\[=]", pinned, maxsplit=1)[0]
        if name in kept:
            findings.add(codes.BAD_VALUE, f"the package '{name}' stands here twice", item.span, "keep one of them")
        kept[name] = pinned, item
    _all_or_none(kept, findings)
    return tuple(sorted(pinned for pinned, _ in kept.values()))


def _all_or_none(kept: dict[str, tuple[str, Node]], findings: Findings) -> None:
    """pip checks digests where one package has any, and then refuses a package that has none."""
    without = {name: item for name, (pinned, item) in kept.items() if not _HASH.search(pinned)}
    if len(without) == len(kept):
        return
    for name, item in without.items():
        message = f"the package '{name}' has no --hash, and others have"
        findings.add(codes.BAD_VALUE, message, item.span, "give a hash to each package, or to none")


def _requirement(node: Node, what: str, findings: Findings) -> str | None:
    """One requirement: its name as the package index writes it, its extras and its hashes sorted."""
    value = text(node, what, findings)
    if value is None:
        return None
    package, *hashes = re.split(r"\s+(?=--hash)", value.strip())
    match = _REQUIREMENT.fullmatch(package)
    if match is None or not _VERSION.fullmatch(match["version"]):
        message = f"{what} is not a package of one version: {value[:80]!r}"
        findings.add(codes.BAD_VALUE, message, node.span, _hint(value))
        return None
    digests = sorted({each.lower() for each in hashes})
    if wrong := next((each for each in digests if not _HASH.fullmatch(each)), None):
        message = f"{what} has a hash that is none of SHA-256: {wrong[:80]!r}"
        findings.add(codes.BAD_VALUE, message, node.span, "write --hash=sha256: and 64 hexadecimal digits")
        return None
    written = (each.strip() for each in (match["extras"] or "[]")[1:-1].split(","))
    extras = ",".join(sorted({_canonical(each) for each in written if each}))
    pinned = f"{_canonical(match['name'])}{f'[{extras}]' if extras else ''}=={match['version']}"
    return " ".join((pinned, *digests))


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _hint(value: str) -> str:
    name = _NAME.match(value.strip())
    if "://" in value or "@" in value or name is None:
        return "name a package of the index and its version, e.g. pandas==2.2.3"
    return f"pin it, as in {name[0]}==1.2.3"
