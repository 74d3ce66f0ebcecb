"""What a build writes of tools: ``registry.json``, one file for each provider, and ``loss.json``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.calls import by_name, called
from toolc.compiler import emit
from toolc.compiler.finished import Finished, Form, Layout
from toolc.digest import canonical, register, registry_frame
from toolc.provider_names import PROVIDER_NAMES
from toolc.providers import load_provider
from toolc.providers.base import Loss, Lowering
from toolc.schema import JsonObject
from toolc.spec import ToolSpec

REGISTRY_NAME: Final = "registry.json"
"""The registry's name in a build's folder."""

_COUNTED: Final = ("/parameters", "/providers")
"""Where a loss counts, as ``Built`` says."""


def finish(tools: Sequence[ToolSpec], among: Sequence[ToolSpec]) -> list[Finished]:
    """These tools, sorted by name, as they stand in each list of a build's files; ``among`` has what they call."""
    others = by_name(among)
    columns: list[list[bytes]] = [[register(tool, others).stored for tool in tools]]
    counts = [0] * len(tools)
    losses: dict[str, list[bytes]] = {}
    for name in PROVIDER_NAMES:
        lowering = load_provider(name).lower(tools)
        columns.append([*map(canonical, lowering.definitions)])
        losses[name] = []
        for index, found in enumerate(_by_tool(tools, lowering)):
            losses[name].append(canonical([_loss_to_json(loss) for loss in found])[1:-1] if found else b"")
            counts[index] += sum(loss.pointer.startswith(_COUNTED) for loss in found)
    columns += [losses[name] for name in sorted(PROVIDER_NAMES)]
    return [
        Finished(texts, count, hashlib.sha256(b"\0".join(texts)).hexdigest())
        for texts, count in zip(zip(*columns, strict=True), counts, strict=True)
    ]


def _by_tool(tools: Sequence[ToolSpec], lowering: Lowering) -> Iterator[Sequence[Loss]]:
    """The losses of each tool; they stand in the order of the tools."""
    at = 0
    for tool in tools:
        start = at
        while at < len(lowering.losses) and lowering.losses[at].tool == tool.name:
            at += 1
        yield lowering.losses[start:at]


def _loss_to_json(loss: Loss) -> JsonObject:
    return {"tool": loss.tool, "pointer": loss.pointer, "message": loss.message}


def _is_joint(tool: ToolSpec) -> bool:
    # What a tool does is what it calls does, and strict tools share a limit.
    is_limited = any(choice.strict and load_provider(choice.provider).limits_strict for choice in tool.providers)
    return is_limited or bool(called(tool))


def _layout(toolsets: Mapping[str, Sequence[str]]) -> Layout:
    """``registry.json``, the providers' files in their order, and the losses by the providers' names, sorted."""
    files: dict[str, tuple[bytes, ...]] = {REGISTRY_NAME: registry_frame(toolsets)}
    for name in PROVIDER_NAMES:
        inside = load_provider(name).lower(()).inside.encode()
        files[f"providers/{name}.json"] = (b'[{"%b":[' % inside, b"]}]") if inside else (b"[", b"]")
    first, *others = sorted(PROVIDER_NAMES)
    between = [b'],"%b":[' % name.encode() for name in others]
    files["loss.json"] = (b'{"%b":[' % first.encode(), *between, b"]}")
    return Layout(files)


FORM: Final = Form(layout=_layout, finish=finish, is_joint=_is_joint)
"""What ``toolc build`` writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a build wrote: the tools' names and the providers', and how many ``losses`` parameters had.

    ``loss.json`` lists these, and what a whole provider has no place for: labels, annotations, examples.
    """

    names: tuple[str, ...]
    providers: tuple[str, ...]
    losses: int


def write(
    tools: Sequence[Finished], names: Sequence[str], toolsets: Mapping[str, Sequence[str]], out: str | Path
) -> Built:
    """Make ``out`` the folder of a build that holds these tools, sorted by name. Raises ``UsageError``."""
    emit.write(Path(out), FORM.layout(toolsets).join(tools))
    return Built(names=tuple(names), providers=PROVIDER_NAMES, losses=sum(each.losses for each in tools))
