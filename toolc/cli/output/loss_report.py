"""Report what providers cannot represent in a build, and whether they accept all of its tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

import click

from toolc.cli.common import FINDINGS, note
from toolc.client.definitions import limit_problem
from toolc.compiler.build_output import REGISTRY_NAME, is_counted
from toolc.dataclass import dataclass
from toolc.model.names import PROVIDER_NAMES
from toolc.model.registry_io import read_registry
from toolc.providers.json_schema.lowering import Loss

if TYPE_CHECKING:
    from toolc.model.json_schema import JsonObject
    from toolc.model.spec.tool import ToolSpec


class ListedLoss(NamedTuple):
    """A line of the report, and whether a change to the spec can avoid the loss."""

    line: str
    is_counted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """The options of the report about the providers of a build.

    With ``providers``, the report covers only these, and it fails if one does not accept all tools in one request.
    """

    providers: tuple[str, ...]
    prints_losses: bool
    fails_on_loss: bool

    def of_new_build(self, out: str, names: Sequence[str], toolsets: Mapping[str, Sequence[str]], to: TextIO) -> None:
        """Report on a new build of the tools ``names`` in the folder ``out``. Raises ``Exit`` for a failure."""
        self._report(_limit_problems(out, self.providers or PROVIDER_NAMES, names, toolsets), out, to)

    def of_unchanged_build(self, out: str, to: TextIO) -> None:
        """Like ``of_new_build``. Without ``providers``, skip the limits, which were reported for the new build."""
        problems: Sequence[str] = ()
        if self.providers:
            registry = read_registry(Path(out, REGISTRY_NAME))
            names = [tool.spec.name for tool in registry.tools]
            problems = _limit_problems(out, self.providers, names, registry.toolsets)
        self._report(problems, out, to)

    def _report(self, problems: Sequence[str], out: str, to: TextIO) -> None:
        for problem in problems:
            note(problem)
        is_read = self.prints_losses or self.fails_on_loss
        losses = _read_losses(out, self.providers or PROVIDER_NAMES) if is_read else []
        for loss in losses if self.prints_losses else ():
            print(loss.line, file=to)
        if (problems and self.providers) or (self.fails_on_loss and any(loss.is_counted for loss in losses)):
            raise click.exceptions.Exit(FINDINGS)


def _limit_problems(
    out: str, providers: Sequence[str], names: Sequence[str], toolsets: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return one message per provider that does not accept all tools of the build ``out`` in one request."""

    @cache
    def tools() -> list[ToolSpec]:
        return [tool.spec for tool in read_registry(Path(out, REGISTRY_NAME)).tools]

    problems = (limit_problem(name, names, _size(out, name), toolsets, tools) for name in providers)
    return [*filter(None, problems)]


def _size(out: str, provider: str) -> int:
    """Return the size in bytes of a provider's definitions in the build ``out``."""
    return Path(out, "providers", f"{provider}.json").stat().st_size


def _read_losses(out: str, providers: Sequence[str]) -> list[ListedLoss]:
    """Return the losses in the build ``out`` of these providers, in their order."""
    found = json.loads(Path(out, "loss.json").read_bytes())
    return [_listed(name, each) for name in providers for each in found[name]]


def _listed(provider: str, entry: JsonObject) -> ListedLoss:
    tool, pointer, message = (str(entry[key]) for key in ("tool", "pointer", "message"))
    loss = Loss(tool, pointer, message, str(entry["action"]), sdk=str(entry.get("sdk", "")))
    return ListedLoss(f"{entry['position']}: {provider}: {loss.tool}: {loss.message}", is_counted(loss))
