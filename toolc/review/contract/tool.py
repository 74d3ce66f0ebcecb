"""What changed of a tool as a whole: its name, its aliases, how it answers and how long it may take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.model.spec.code_backends import ErrorKind, ShellBackend
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.tool import ToolSpec
from toolc.review.change import Change, Grade, Route
from toolc.review.pairing import Pair

_HINTS: Final = {None: None, True: "true", False: "false"}

REMOVED: Final = "CON301"
RENAMED: Final = "CON302"
ALIAS: Final = "CON303"
BACKEND: Final = "CON304"
CONTENT: Final = "CON305"
ERRORS: Final = "CON306"
TIME: Final = "CON307"
OUTPUT: Final = "CON308"
ANNOTATION: Final = "CON309"
DEPRECATED: Final = "CON310"
RESULT_SCHEMA: Final = "CON311"
ADDED: Final = "CON312"


def changes(pair: Pair) -> Iterator[Change]:
    """What changed of the tool itself, whatever its schemas say."""
    if pair.old is None and pair.new is not None:
        yield _change(pair, ADDED, "compatible", "the tool is new", ("name",), None, pair.new.spec.name)
    elif pair.new is None and pair.old is not None:
        words = "the tool is gone: a call of it is refused"
        yield _change(pair, REMOVED, "breaking", words, ("name",), pair.old.spec.name, None)
    elif pair.old and pair.new:
        yield from _kept(pair, pair.old.spec, pair.new.spec)


def _kept(pair: Pair, old: ToolSpec, new: ToolSpec) -> Iterator[Change]:
    if old.name != new.name:
        has_alias = old.name in new.aliases
        words = f"probably renamed from {old.name} ({pair.why}); " + (
            "the old name still works" if has_alias else f"a call of {old.name} is refused: add it to aliases"
        )
        yield _change(
            pair, RENAMED, "compatible" if has_alias else "breaking", words, ("name",), old.name, new.name
        )
    for alias in old.aliases:
        if alias not in new.aliases and alias != new.name:
            words = f"the alias {alias} is gone: a call by it is refused"
            yield _change(pair, ALIAS, "breaking", words, ("aliases",), alias, None)
    if old.backend.tag != new.backend.tag:
        words = f"calls are made another way: {old.backend.tag} before, {new.backend.tag} now"
        yield _change(pair, BACKEND, "breaking", words, ("backend",), old.backend.tag, new.backend.tag)
    if old.result.format != new.result.format:
        words = f"results are {new.result.format} now, {old.result.format} before"
        yield _change(pair, CONTENT, "breaking", words, ("result", "format"), old.result.format, new.result.format)
    if _errors(old) != _errors(new):
        words = "failures are told by other kinds"
        yield _change(pair, ERRORS, "breaking", words, ("backend",), _words(_errors(old)), _words(_errors(new)))
    yield from _limits(pair, old, new)
    yield from _annotations(pair, old, new)
    if new.deprecated is not None and old.deprecated is None:
        yield _change(pair, DEPRECATED, "warning", "the tool is deprecated", ("deprecated",), None, new.deprecated)


def _limits(pair: Pair, old: ToolSpec, new: ToolSpec) -> Iterator[Change]:
    before, after = old.sandbox.limits, new.sandbox.limits
    for rule, key, was, now, unit in (
        (TIME, "timeout", before.timeout_ms, after.timeout_ms, "ms"),
        (OUTPUT, "output", before.output_bytes, after.output_bytes, "bytes"),
    ):
        if now < was:
            words = f"a call may {'take less time' if rule == TIME else 'answer less'}"
            route = ("sandbox", "limits", key)
            yield _change(pair, rule, "breaking", words, route, f"{was} {unit}", f"{now} {unit}")


def _annotations(pair: Pair, old: ToolSpec, new: ToolSpec) -> Iterator[Change]:
    for name in ("read_only", "destructive", "idempotent", "open_world"):
        was, now = getattr(old.annotations, name), getattr(new.annotations, name)
        if was != now:
            words = f"the hint {name} is another"
            yield _change(pair, ANNOTATION, "warning", words, ("annotations", name), _HINTS[was], _HINTS[now])


def _errors(tool: ToolSpec) -> tuple[tuple[str, ErrorKind | str], ...]:
    """How failures become error kinds."""
    backend = tool.backend
    if isinstance(backend, ShellBackend):
        codes = backend.success_exit_codes
        succeeds = "any" if codes is None else ", ".join(map(str, sorted(codes)))
        return (
            ("exits with success", succeeds),
            *sorted((str(each.status), each.kind) for each in backend.errors),
        )
    if isinstance(backend, HttpBackend):
        return tuple((each.status or each.when or "", each.kind) for each in backend.errors)
    return ()


def _words(errors: tuple[tuple[str, str], ...]) -> str | None:
    return "; ".join(f"{cause}: {kind}" for cause, kind in errors) or None


def _change(
    pair: Pair, rule: str, grade: Grade, message: str, route: Route, before: str | None, after: str | None
) -> Change:
    return Change(
        kind="contract",
        rule=rule,
        grade=grade,
        message=message,
        path=route,
        before=before,
        after=after,
        old=pair.old.span(*route) if pair.old else None,
        new=pair.new.span(*route) if pair.new else None,
    )
