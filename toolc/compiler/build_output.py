"""The files of a build: ``registry.json``, one file per provider, and ``loss.json``.

Each file consists of lists of tools between fixed literals. Each tool has one text per list: its entries, which are
canonical JSON. So a build can reuse the texts of tools that did not change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from toolc.compiler import emit
from toolc.model.call_graph import by_name, called
from toolc.model.json_schema import JsonObject
from toolc.model.provider_names import PROVIDER_NAMES
from toolc.model.registry_file import canonical, register, registry_frame
from toolc.model.spec.tool import ToolSpec
from toolc.providers import load_provider
from toolc.providers.base import Lowering
from toolc.providers.json_schema.lowering import Loss

REGISTRY_NAME: Final = "registry.json"
"""The name of the registry in the folder of a build."""

_COUNTED: Final = ("/parameters", "/providers")
"""The prefixes of the pointers of losses that ``Built.losses`` counts."""


@dataclass(frozen=True, slots=True)
class RenderedTool:
    """One tool in the files of a build: one text per list.

    A text is entries with commas between them, or empty. ``losses`` counts the details that providers cannot
    express. ``digest`` is the SHA-256 of all texts.
    """

    texts: tuple[bytes | memoryview, ...]
    losses: int
    digest: str


def render(tools: Sequence[ToolSpec], callable_tools: Sequence[ToolSpec]) -> list[RenderedTool]:
    """Return the texts of ``tools``, sorted by name; ``callable_tools`` has the tools that they call."""
    others = by_name(callable_tools)
    columns: list[list[bytes]] = [[register(tool, others).stored for tool in tools]]
    counts = [0] * len(tools)
    losses: dict[str, list[bytes]] = {}
    for name in PROVIDER_NAMES:
        provider = load_provider(name)
        lowering = provider.lower(tools)
        columns.append([*map(canonical, lowering.definitions)])
        losses[name] = []
        for index, found in enumerate(_losses_by_tool(tools, lowering)):
            losses[name].append(canonical([_loss_to_json(loss) for loss in found])[1:-1] if found else b"")
            counts[index] += sum(loss.pointer.startswith(_COUNTED) for loss in found)
    columns += [losses[name] for name in sorted(PROVIDER_NAMES)]
    return [
        RenderedTool(texts, count, hashlib.sha256(b"\0".join(texts)).hexdigest())
        for texts, count in zip(zip(*columns, strict=True), counts, strict=True)
    ]


def depends_on_others(tool: ToolSpec) -> bool:
    """Return whether the texts of ``tool`` depend on other tools: those it calls, or a shared limit."""
    is_limited = any(choice.strict and load_provider(choice.provider).limits_strict for choice in tool.providers)
    return is_limited or bool(called(tool))


def join(tools: Iterable[RenderedTool], toolsets: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
    """Return the files of a build with these tools, sorted by name, by path relative to its folder."""
    columns = zip(*(tool.texts for tool in tools), strict=True)
    files: dict[str, bytes] = {}
    for path, (first, *others) in _literals(toolsets).items():
        parts: list[bytes | memoryview] = [first]
        for literal in others:
            entries = [part for text in next(columns, ()) if text for part in (b",", text)]
            parts += [*entries[1:], literal]
        files[path] = b"".join(parts)  # in one step: these are many megabytes
    return files


def split(
    folder: Path, toolsets: Mapping[str, Sequence[str]], sizes: Sequence[Sequence[int]]
) -> list[tuple[memoryview, ...]]:
    """Return the texts of each tool of the build in ``folder``; ``sizes`` are their lengths in bytes.

    Raises ``OSError``, and ``ValueError`` where the files have another length.
    """
    columns = zip(*sizes, strict=True)
    lists: list[list[memoryview]] = []
    for path, literals in _literals(toolsets).items():
        data = memoryview((folder / path).read_bytes())
        at = len(literals[0])
        for literal, column in zip(literals[1:], islice(columns, len(literals) - 1), strict=True):
            texts: list[memoryview] = []
            for size in column:
                texts.append(data[at : at + size])
                at += size + (size > 0)
            at += len(literal) - any(column)
            lists.append(texts)
        if at != len(data):
            raise ValueError(f"{path} does not have the length that was written")
    return [*zip(*lists, strict=True)]


def _literals(toolsets: Mapping[str, Sequence[str]]) -> dict[str, tuple[bytes, ...]]:
    """Return the literals of each file, with one list of tools between any two of them."""
    files: dict[str, tuple[bytes, ...]] = {REGISTRY_NAME: registry_frame(toolsets)}
    for name in PROVIDER_NAMES:
        provider = load_provider(name)
        inside = provider.lower(()).inside.encode()
        files[f"providers/{name}.json"] = (b'[{"%b":[' % inside, b"]}]") if inside else (b"[", b"]")
    first, *others = sorted(PROVIDER_NAMES)
    between = [b'],"%b":[' % name.encode() for name in others]
    files["loss.json"] = (b'{"%b":[' % first.encode(), *between, b"]}")
    return files


def _losses_by_tool(tools: Sequence[ToolSpec], lowering: Lowering) -> Iterator[Sequence[Loss]]:
    """Yield the losses of each tool; ``lowering.losses`` has the order of ``tools``."""
    at = 0
    for tool in tools:
        start = at
        while at < len(lowering.losses) and lowering.losses[at].tool == tool.name:
            at += 1
        yield lowering.losses[start:at]


def _loss_to_json(loss: Loss) -> JsonObject:
    return {"tool": loss.tool, "pointer": loss.pointer, "message": loss.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a build wrote: the names of the tools and of the providers.

    ``losses`` counts the details of parameters that a provider cannot express. ``loss.json`` lists these, and also
    what a provider never supports: labels, annotations, examples.
    """

    names: tuple[str, ...]
    providers: tuple[str, ...]
    losses: int


def write(
    tools: Sequence[RenderedTool], names: Sequence[str], toolsets: Mapping[str, Sequence[str]], out: str | Path
) -> Built:
    """Replace the folder ``out`` by a build with these tools, sorted by name. Raises ``UsageError``."""
    emit.write(Path(out), join(tools, toolsets))
    return Built(names=tuple(names), providers=tuple(PROVIDER_NAMES), losses=sum(each.losses for each in tools))
