"""What a backend kind is: two pure functions around a call."""

from __future__ import annotations

from typing import Protocol, TypeVar

from toolc.model.call import BoundCall
from toolc.model.plan import Plan, Profile
from toolc.model.result import Outcome, ToolResult
from toolc.model.spec.tool import ResultSpec

Kind_contra = TypeVar("Kind_contra", contravariant=True)


class PlanError(ValueError):
    """Arguments that satisfy the schema and still cannot be passed on; becomes an ``invalid_args`` result."""


class Backend(Protocol[Kind_contra]):
    """How one kind of backend (``ShellBackend``, ``PythonBackend``) is run."""

    def plan(self, backend: Kind_contra, call: BoundCall, profile: Profile) -> Plan:
        """What this call asks of an engine. Raises ``PlanError``."""

    def read(self, backend: Kind_contra, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """The result of an outcome; ``details`` here are only those this backend knows of."""
