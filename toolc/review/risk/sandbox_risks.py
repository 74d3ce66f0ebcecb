"""Risks of the sandbox: RSK03 (image), RSK04 (isolation), RSK05 (limits), RSK13 and RSK21 (lifetime)."""

from __future__ import annotations

import base64
import hashlib
import math
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from toolc.model.permissions import Permissions, format_amount, limit_key
from toolc.model.spec.code_backends import File, PythonBackend
from toolc.model.spec.composed_backends import AgentBackend, CompositeBackend
from toolc.model.spec.sandbox import Build, Lifetime, Limit, Limits, MinIsolation
from toolc.model.spec.tool import ToolSpec
from toolc.review.model.change import Grade, ToolChange
from toolc.review.risk.risk_rule import Sides, gained, risk_rule, steps_suffix

_STRENGTH: Final[dict[MinIsolation, int]] = {"namespace": 0, "gvisor": 1, "vm": 2}

_HIGH_FACTOR: Final = 10
"""A limit has the grade ``high`` if it is at least this many times the old limit and the default."""


@risk_rule("RSK03")
def check_image(sides: Sides) -> Iterator[ToolChange]:
    """Report another image, or another folder that an image is built from."""
    before, after = sides.before, sides.after
    if isinstance(after.backend, CompositeBackend):
        return
    old, new = _image(before), _image(after)
    is_moved_build = bool(before and before.sandbox.build and after.sandbox.build)
    if old != new and (before is not None or after.sandbox.image or after.sandbox.build):
        route = ("sandbox", "build" if after.sandbox.build else "image")
        message = "the folder of the image changed" if is_moved_build else _image_message(before, after)
        yield sides.risk("RSK03", "high", message, route, old, new)
    if before is not None and after.sandbox.build is not None:
        yield from _image_files(sides, before.sandbox.build, after.sandbox.build)


def _image_files(sides: Sides, before: Build | None, after: Build) -> Iterator[ToolChange]:
    """Yield a change for each file of the image, with its lines."""
    old, new = _files(before) if before else {}, _files(after)
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            verb = "was added" if path not in old else "was removed" if path not in new else "changed"
            message = f"the file {path} of the image {verb}"
            yield sides.risk("RSK03", "high", message, ("sandbox", "build"), old.get(path), new.get(path), subject=path)


def _files(build: Build) -> dict[str, str]:
    """Return the texts of an image's files by their paths in its folder. For other files, return a digest."""
    return {each.path.removeprefix(f"{build.folder}/"): _text(each) for each in build.files}


def _text(file: File) -> str:
    if file.text is not None:
        return file.text
    content = base64.b64decode(file.base64 or "")
    return f"({len(content)} bytes, not text, sha256:{hashlib.sha256(content).hexdigest()})"


def _image_message(before: ToolSpec | None, after: ToolSpec) -> str:
    old, new = before.sandbox.image if before else None, after.sandbox.image
    if old and new:
        name, _, digest = old.partition("@")
        new_name, _, new_digest = new.partition("@")
        if digest and not new_digest:
            return "the image is no longer pinned by digest"
        if digest and new_digest and name == new_name:
            return "the image digest changed"
        if name.rpartition("/")[0] != new_name.rpartition("/")[0]:
            return "the image comes from another repository"
    return "the image changed"


def _image(tool: ToolSpec | None) -> str | None:
    if tool is None:
        return None
    return f"build: {tool.sandbox.build.folder}" if tool.sandbox.build else tool.sandbox.image or "the base image"


@risk_rule("RSK04")
def check_isolation(sides: Sides) -> Iterator[ToolChange]:
    """Report a removed ``run_as: nonroot`` and a weaker ``min_isolation``, but not of a new tool."""
    if sides.old is None:
        return
    if _weakest(sides.permissions_after) < _weakest(sides.permissions_before):
        names = [*_STRENGTH]
        before, after = names[_weakest(sides.permissions_before)], names[_weakest(sides.permissions_after)]
        message = "a call may run with weaker isolation"
        yield sides.risk("RSK04", "critical", message, ("sandbox", "min_isolation"), before, after)
    if (
        _may_be_root(sides.permissions_after)
        and not _may_be_root(sides.permissions_before)
        and sides.permissions_before.users
    ):
        message = "a call may run as root in its sandbox"
        yield sides.risk("RSK04", "critical", message, ("sandbox", "run_as"), "nonroot", "any user")


def _weakest(permissions: Permissions) -> int:
    return min((_STRENGTH[each.value] for each in permissions.isolation), default=max(_STRENGTH.values()))


def _may_be_root(permissions: Permissions) -> bool:
    return any(each.value == "any" for each in permissions.users)


@risk_rule("RSK05")
def check_limits(sides: Sides) -> Iterator[ToolChange]:
    """Report each limit that is higher than before or, for a new tool, higher than the default."""
    standard = {each.name: getattr(Limits(), each.name) for each in fields(Limits)}
    own = {name: math.inf if amount is None else float(amount) for name, amount in standard.items()}
    old_limits = {each.value.name: each.value.amount for each in sides.permissions_before.limits} if sides.old else own
    for each in sides.permissions_after.limits:
        name, amount = each.value.name, each.value.amount
        before = old_limits.get(name, own[name])
        if amount > before:
            key, old, new = limit_key(name), format_amount(Limit(name, before)), format_amount(each.value)
            message = f"a call may use more: {key} changed from {old} to {new}{steps_suffix(each)}"
            base = before if own[name] == math.inf else max(before, own[name])
            grade: Grade = "high" if amount >= _HIGH_FACTOR * base else "medium"
            yield sides.risk("RSK05", grade, message, ("sandbox", "limits", key), old, new)
    before_tries, after_tries = _attempts(sides.before), _attempts(sides.after)
    if after_tries > before_tries:
        message = "failed calls are retried more often"
        yield sides.risk("RSK05", "medium", message, ("retry",), str(before_tries), str(after_tries))
    yield from _agent(sides)


def _attempts(tool: ToolSpec | None) -> int:
    return tool.retry.attempts if tool and tool.retry else 1


def _agent(sides: Sides) -> Iterator[ToolChange]:
    before, after = sides.before.backend if sides.before else None, sides.after.backend
    if not isinstance(before, AgentBackend) or not isinstance(after, AgentBackend):
        return
    for name in ("max_turns", "max_tokens", "token_budget"):
        old, new = getattr(before, name), getattr(after, name)
        if new > old:
            message = f"the sub-agent may do more: {name} changed from {old} to {new}"
            yield sides.risk("RSK05", "medium", message, ("backend", "agent", name), str(old), str(new))


@risk_rule("RSK13")
def check_session(sides: Sides) -> Iterator[ToolChange]:
    """Report ``lifetime: session`` where it was not set before."""
    for each in gained(sides.permissions_before.lifetimes, sides.permissions_after.lifetimes):
        if each.value == "session":
            message = f"all calls of a session share one sandbox{steps_suffix(each)}"
            before = _lifetime(sides.permissions_before)
            yield sides.risk("RSK13", "high", message, ("sandbox", "lifetime"), before, "session")


@risk_rule("RSK21")
def check_fork_server(sides: Sides) -> Iterator[ToolChange]:
    """Report a new ``lifetime: fork``, unless the same calls shared a session before.

    Also report new packages that a fork server may import, because their code runs with its capabilities.
    """
    before, after = sides.permissions_before.lifetimes, sides.permissions_after.lifetimes
    shared = {step for each in before if each.value == "session" for step in each.by}
    for each in after:
        if each.value == "fork" and each.value not in {old.value for old in before} and not shared.issuperset(each.by):
            message = f"calls are processes of one fork server and share its limits{steps_suffix(each)}"
            yield sides.risk("RSK21", "medium", message, ("sandbox", "lifetime"), "call", "fork")
    old, new = _packages_of_server(sides.before), _packages_of_server(sides.after)
    if more := [each for each in new if each not in old]:
        message = f"the fork server may run the code of packages with its capabilities: {', '.join(more)}"
        yield sides.risk("RSK21", "high", message, ("backend", "python", "preload"), ", ".join(old), ", ".join(new))


def _packages_of_server(tool: ToolSpec | None) -> tuple[str, ...]:
    """Return the modules of packages that a fork server imports if the lock file approves their digests."""
    if tool is None or tool.sandbox.lifetime != "fork" or not isinstance(tool.backend, PythonBackend):
        return ()
    backend = tool.backend
    packages = [name for name in backend.preload if name.partition(".")[0] not in sys.stdlib_module_names]
    return tuple(packages) if backend.requirements else ()


def _lifetime(permissions: Permissions) -> Lifetime:
    """Return the lifetime with the weakest isolation between calls."""
    found = {each.value for each in permissions.lifetimes}
    return next((each for each in ("session", "fork") if each in found), "call")
