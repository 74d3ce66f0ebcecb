"""Decode ``policy`` of a project file, and the file given with ``--policy``: limits for all tools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal, TypeVar, get_args

from toolc.compiler.project.limits import decode_limits
from toolc.compiler.project.network import allow_entries
from toolc.document.loader import load_project
from toolc.document.map_reader import Findings, Parse, Reader, boolean, choice, list_of, map_parser, text
from toolc.document.nodes import Document, Mapping, Node
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.permissions import Limit
from toolc.model.spec.sandbox import Expose, Lifetime, Limits, MinIsolation, WorkspaceMode
from toolc.policy.policy import Approval, BackendKind, Policy, RequiredField

T = TypeVar("T")

KEYS: Final[dict[str, str]] = {
    "timeout": "timeout_ms", "memory": "memory_bytes", "cpus": "cpus", "pids": "pids", "output": "output_bytes",
    "tmp": "tmp_bytes", "files": "files", "file_size": "file_size_bytes",
    "workspace": "workspace_bytes",
}  # fmt: skip
"""The limits in a spec, and the corresponding attributes of ``toolc.model.spec.sandbox.Limits``."""

GRADES: Final = ("critical", "high", "breaking", "medium", "warning", "low", "compatible")
"""The grades of changes in ``toolc diff``."""

RISK: Final = "[A-Z]{3}[0-9]{2,3}"
"""The form of the identifier of a ``toolc diff`` rule."""

_RUN_AS: Final[Parse[Literal["nonroot"]]] = choice(("nonroot",))
_MIN_ISOLATION: Final[Parse[MinIsolation]] = choice(get_args(MinIsolation))


@map_parser("the policy")
def decode_policy(reader: Reader) -> Policy | None:
    """Decode a policy. Parts with errors are left out, so the caller must check ``findings`` for errors."""
    return Policy(
        path=reader.findings.source.path,
        limits=reader.default("limits", _limits, ()),
        hosts=reader.optional("hosts", allow_entries),
        public_egress=reader.default("public_egress", boolean, True),
        images=reader.optional("images", list_of(text)),
        require=reader.default("require", _list_of_choices(get_args(RequiredField)), ()),
        backends=reader.optional("backends", _list_of_choices(get_args(BackendKind))),
        expose=reader.optional("expose", _list_of_choices(get_args(Expose))),
        workspace=reader.optional("workspace", _list_of_choices(get_args(WorkspaceMode))),
        lifetime=reader.optional("lifetime", _list_of_choices(get_args(Lifetime))),
        run_as=reader.optional("run_as", _RUN_AS),
        min_isolation=reader.default("min_isolation", _MIN_ISOLATION, "namespace"),
        approvals=reader.default("approvals", list_of(_approval), ()),
        places={"": reader.node.span} | {entry.key: entry.key_span for entry in reader.node.entries},
    )


def decode_policy_file(document: Document, findings: Findings) -> Policy | None:
    """Decode a file whose only key is ``policy``."""
    reader = Reader(document.root, "the policy file", findings)
    policy = reader.required("policy", decode_policy)
    reader.close()
    return policy


def read_policy(path: str | Path, name: str | None = None) -> Policy:
    """Read a file with the only key ``policy``; messages call it ``name``.

    Raises ``UsageError`` for any error: part of a policy is unsafe.
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


def _list_of_choices(options: tuple[T, ...]) -> Parse[tuple[T, ...]]:
    return list_of(choice(options))


def _limits(node: Node, what: str, findings: Findings) -> tuple[Limit, ...] | None:
    limits = decode_limits(node, what, findings, "the policy's limits")
    if limits is None or not isinstance(node, Mapping):
        return None
    return tuple(_limit(limits, KEYS[entry.key]) for entry in node.entries if entry.key in KEYS)


def _limit(limits: Limits, name: str) -> Limit:
    return Limit(name, getattr(limits, name))


@map_parser("an approval")
def _approval(reader: Reader) -> Approval | None:
    return Approval(
        by=reader.required("by", _approvers) or (),
        risks=reader.default("risks", list_of(_risk), ()),
        paths=reader.default("paths", list_of(text), ()),
        tags=reader.default("tags", list_of(text), ()),
    )


def _approvers(node: Node, what: str, findings: Findings) -> tuple[str, ...] | None:
    names = list_of(text)(node, what, findings)
    if names == ():
        hint = "name a user or a team: '@example/security'"
        findings.add(codes.BAD_VALUE, f"{what} must not be empty", node.span, hint)
    return names


def _risk(node: Node, what: str, findings: Findings) -> str | None:
    risk = text(node, what, findings)
    if risk is None or risk in GRADES or re.fullmatch(RISK, risk):
        return risk
    message = f"'{risk[:80]}' is neither a rule of 'toolc diff' nor a grade"
    findings.add(codes.BAD_VALUE, message, node.span, f"write a rule such as RSK01, or one of: {', '.join(GRADES)}")
    return None
