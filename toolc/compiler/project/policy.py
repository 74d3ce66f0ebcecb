"""Decode ``policy`` of a project file, and the file given with ``--policy``: limits for all tools."""

from __future__ import annotations

import re
from pathlib import Path

from toolc.compiler.project.limits import decode_limits
from toolc.compiler.project.network import allow_entries
from toolc.document.declared import read_keys
from toolc.document.loader import load_project
from toolc.document.map_reader import Findings, Reader, list_of, map_parser, text
from toolc.document.nodes import Document, Mapping, Node
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.spec.declared import keys_of
from toolc.model.spec.policy import GRADES, RISK, Approval, Policy
from toolc.model.spec.sandbox import Limit, Limits


@map_parser("the policy")
def decode_policy(reader: Reader) -> Policy | None:
    """Decode a policy. Parts with errors are left out, so the caller must check ``findings`` for errors."""
    return Policy(
        path=reader.findings.source.path,
        places={"": reader.node.span} | {entry.key: entry.key_span for entry in reader.node.entries},
        **read_keys(reader, Policy, limits=_limits, hosts=allow_entries, approvals=list_of(_approval)),
    )


def decode_policy_file(document: Document, findings: Findings) -> Policy | None:
    """Decode a file whose only key is ``policy``."""
    reader = Reader(document.root, "the policy file", findings)
    policy = reader.required("policy", decode_policy)
    reader.close()
    return policy


def read_policy(path: str | Path, name: str | None = None) -> Policy:
    """Read a file with the only key ``policy``. Messages call it ``name``.

    Raises ``UsageError`` for any error, because a partial policy is unsafe.
    """
    name = name or Path(path).as_posix()
    diagnostics = Diagnostics()
    document = load_project(Path(path), name, diagnostics, what="a policy file")
    policy = decode_policy_file(document, Findings(document.source, diagnostics)) if document else None
    errors = [each for each in diagnostics.sorted() if each.is_error]
    lines = [f"{each.span}: {each.message}" + (f"; {each.hint}" if each.hint else "") for each in errors]
    if policy is None or lines:
        raise UsageError("\n".join([f"the policy {name} cannot be used:", *lines]))
    return policy


def _limits(node: Node, what: str, findings: Findings) -> tuple[Limit, ...] | None:
    limits = decode_limits(node, what, findings, "the policy's limits")
    if limits is None or not isinstance(node, Mapping):
        return None
    return tuple(Limit(each.field, getattr(limits, each.field)) for each in keys_of(Limits) if each.name in node.by_key)


@map_parser("an approval")
def _approval(reader: Reader) -> Approval | None:
    return Approval(**{"by": ()} | read_keys(reader, Approval, risks=list_of(_risk)))


def _risk(node: Node, what: str, findings: Findings) -> str | None:
    risk = text(node, what, findings)
    if risk is None or risk in GRADES or re.fullmatch(RISK, risk):
        return risk
    message = f"'{risk[:80]}' is neither a rule of 'toolc diff' nor a grade"
    findings.add(codes.BAD_VALUE, message, node.span, f"write a rule such as RSK01, or one of: {', '.join(GRADES)}")
    return None
