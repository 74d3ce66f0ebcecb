"""A sandbox whose process serves call after call, and what of a call's plan is that process's."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from dataclasses import replace
from typing import Final, TypeAlias

from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, Plan, PluginCall, Profile, PythonCall
from toolc.model.result import Outcome
from toolc.model.spec.sandbox import EnvVar
from toolc.runtime.egress import Egress
from toolc.runtime.measured import about
from toolc.runtime.plugin_turn import PluginTurns
from toolc.runtime.session_wire import EndedError, SessionWire, Turn
from toolc.runtime.timing import Timing
from toolc.runtime.worker_turn import take_function, take_program
from toolc.sandbox.base import EngineSandbox
from toolc.sandbox.selection import in_use

Start: TypeAlias = Callable[[Profile], tuple[EngineSandbox, Profile]]
"""Starts a sandbox, and says with which profile. Raises ``InfrastructureError``."""

_CALL_ID: Final = "TOOLC_CALL_ID"
_ARGUMENT: Final = "ARG_"
"""The variable, and how those begin, that are a call's own."""


class Served:
    """One sandbox with a process that serves call after call, until ``close``."""

    def __init__(self, plan: Plan, start: Start, egress: Egress, timing: Timing) -> None:
        self.calls = 0
        self._undo = ExitStack()
        self._undo.enter_context(in_use())
        with self._undo:
            self.sandbox, profile = start(plan.profile)
            self._undo.callback(self.sandbox.close)
            timing.lap("create", until=self.sandbox.created)
            timing.lap("start")
            self._wire = SessionWire(self.sandbox, replace(opening(plan), profile=profile), egress)
            self._undo.callback(self._wire.close)
            self._plugin = PluginTurns()
            self._undo = self._undo.pop_all()

    def call(self, plan: Plan, turn: Turn) -> Outcome:
        """One call. Raises ``EndedError`` where no other may follow."""
        self.calls += 1
        self._wire.begin(turn)
        outcome = self._call(plan)
        # Of a process that has lost some of its own nobody can say what it still is.
        if outcome.ending == "out_of_memory" or self.sandbox.out_of_memory():
            raise EndedError(self._wire.outcome("out_of_memory"))
        return outcome

    def _call(self, plan: Plan) -> Outcome:
        match plan.invocation:
            case PluginCall():
                return self._plugin.take(self._wire, plan.invocation, plan.call_id)
            case PythonCall():
                return take_function(self._wire, plan, plan.invocation)
            case Exec():
                return take_program(self._wire, plan, plan.invocation)
            case _:
                raise TypeError(f"a session of {plan.invocation.tag!r} calls")

    def about(self) -> JsonObject:
        """What ``details`` say of the sandbox; ``session.call`` counts from 1 with each new one."""
        return about(self.sandbox) | {"session": {"call": self.calls}}

    def close(self) -> None:
        """End the process and its sandbox."""
        self._undo.close()


def call_once(plan: Plan, start: Start, turn: Turn, egress: Egress, timing: Timing) -> tuple[Outcome, JsonObject]:
    """One call of a process that could serve more, in a sandbox that is gone afterwards.

    Raises ``InfrastructureError``.
    """
    if turn.cancellation and turn.cancellation.is_cancelled:
        return Outcome(ending="cancelled"), {"user": ""}
    served = Served(plan, start, egress, timing)
    try:
        outcome = served.call(plan, turn)
    except EndedError as error:
        outcome = error.outcome
    finally:
        timing.lap("run")
        served.close()
        timing.lap("close")
    return outcome, about(served.sandbox)


def standing(plan: Plan) -> Hashable:
    """What of a plan is its process's, and not the call's."""
    invocation: Hashable
    match plan.invocation:
        case PluginCall(argv=argv, files=files):
            invocation = argv, files
        case PythonCall(entry=entry, function=function, files=files):
            invocation = entry, function, files
        case Exec(files=files, progress=progress):
            invocation = files, progress
        case _:
            invocation = None
    return plan.invocation.tag, plan.profile, invocation, _standing_env(plan), plan.allow, plan.secret_files


def opening(plan: Plan) -> Plan:
    """The plan of what serves the calls: the first call's, without what is that call's own."""
    return replace(plan, env=_standing_env(plan), stdin=b"")


def _standing_env(plan: Plan) -> tuple[EnvVar, ...]:
    return tuple(each for each in plan.env if each.name != _CALL_ID and not each.name.startswith(_ARGUMENT))
