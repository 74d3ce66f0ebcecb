"""Write the files of a build: ``registry.json``, one file per provider, ``loss.json`` and ``openapi.json``.

Each file consists of lists of tools between fixed literals. Each tool has one text per list, with its entries as
canonical JSON. Several processes can therefore render the tools.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Final

from toolc.compiler.located_tool import LocatedTool
from toolc.dataclass import dataclass, replace
from toolc.model.call_graph import called_tools, tools_by_name
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.names import PROVIDER_NAMES
from toolc.model.registry_io import canonical, register, registry_frame
from toolc.model.spec.tool import ToolSpec
from toolc.providers import load_provider, openapi
from toolc.providers.json_schema.lowering import Loss
from toolc.providers.provider import Lowering, Provider, requests_strict

if sys.platform != "win32":
    import fcntl

MANIFEST: Final = ".toolc-build"
"""The file in which a build lists the files that it wrote, sorted, with one path per line."""

_HEADER: Final = "# Written by `toolc build`; the next build replaces this folder. These files are its own:\n"
_FILE_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o755
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
"""Constants from ``linux/fcntl.h`` and ``linux/fs.h``."""

REGISTRY_NAME: Final = "registry.json"
"""The name of the registry file in the folder of a build."""

_OPENAPI: Final = (
    b'{"components":{"schemas":{',
    b",%b," % canonical(openapi.SHARED_SCHEMAS)[1:-1],
    b'}},%b,"paths":{' % canonical(openapi.DOCUMENT)[1:-1],
    b"}}",
)
"""The literals of ``openapi.json`` around its lists of arguments, results and paths. A build has at least one tool."""

_COUNTED: Final = ("/parameters", "/providers")
"""Prefixes of the JSON pointers of the losses that ``Built.losses`` counts."""


def write_files(out: Path, artifacts: Mapping[str, bytes]) -> None:
    """Replace the contents of folder ``out`` with ``artifacts`` and a list of their paths.

    ``artifacts`` maps paths relative to ``out`` to contents. Other files of an earlier build are removed. If the folder
    already has this content, it is not changed, so that programs that compare times do not see a change. If ``out``
    cannot be written or contains files that no build wrote, raises ``UsageError`` and leaves it unchanged.
    """
    try:
        target = Path(os.path.realpath(out))
        target.parent.mkdir(parents=True, exist_ok=True)
        listing = _HEADER + "".join(f"{path}\n" for path in sorted(artifacts))
        files = {**artifacts, MANIFEST: listing.encode()}
        with _locked(target.parent):
            _check_owned(target, out)
            if _is_written(target, files):
                return
            temporary = _temporary_folder(target)
            try:
                _fill(temporary, files)
                _replace_folder(target, temporary)
            finally:
                # Includes folders of killed builds, because this build holds the lock.
                for path in target.parent.glob(f"{_temporary_prefix(target)}*"):
                    shutil.rmtree(path, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in {errno.EBUSY, errno.EXDEV}:
            reason += "; if it is a mount point, use a folder inside it"
        elif error.errno in {errno.EEXIST, errno.ENOTDIR}:
            reason = "a parent folder has the name of an existing file; choose another folder with --out"
        raise UsageError(f"cannot write {out}: {reason}") from error


@dataclass(frozen=True, slots=True)
class RenderedTool:
    """One tool in the files of a build. Each list is a single text.

    A text has entries separated by commas, or is empty. ``losses`` is the number of details that providers cannot
    express.
    """

    texts: tuple[bytes, ...]
    losses: int


def render(tools: Sequence[LocatedTool], callable_tools: Sequence[ToolSpec]) -> list[RenderedTool]:
    """Return the texts of ``tools``, sorted by name. ``callable_tools`` includes the tools that they call."""
    specs = [tool.spec for tool in tools]
    others = tools_by_name(callable_tools)
    folder = Path.cwd()
    positions = [cache(partial(_position, tool, folder)) for tool in tools]
    columns: list[list[bytes]] = [[register(tool, others).stored for tool in specs]]
    counts = [0] * len(tools)
    losses: dict[str, list[bytes]] = {}
    for name in PROVIDER_NAMES:
        lowering = _lower(name, specs, callable_tools)
        columns.append([*map(canonical, lowering.definitions)])
        losses[name] = []
        for index, tool_losses in enumerate(_losses_by_tool(specs, lowering)):
            entries: list[JsonValue] = [_loss_to_json(loss, positions[index](loss.pointer)) for loss in tool_losses]
            losses[name].append(canonical(entries)[1:-1] if entries else b"")
            counts[index] += sum(map(is_counted, tool_losses))
    columns += [losses[name] for name in sorted(PROVIDER_NAMES)]
    columns += [[*column] for column in zip(*map(_operation_texts, specs), strict=True)]
    return [RenderedTool(texts, count) for texts, count in zip(zip(*columns, strict=True), counts, strict=True)]


def _lower(name: str, tools: Sequence[ToolSpec], all_tools: Sequence[ToolSpec]) -> Lowering:
    """Return ``tools`` lowered for a provider, as in a request with ``all_tools``."""
    provider = load_provider(name)
    if len(tools) == len(all_tools) or not any(_is_limited(tool, provider) for tool in tools):
        return provider.lower(tools)
    chosen = {tool.name for tool in tools}
    lowering = provider.lower(all_tools)
    pairs = zip(all_tools, lowering.definitions, strict=True)
    return replace(
        lowering,
        definitions=[definition for tool, definition in pairs if tool.name in chosen],
        losses=tuple(loss for loss in lowering.losses if loss.tool in chosen),
    )


def _is_limited(tool: ToolSpec, provider: Provider) -> bool:
    """Return whether the definition of a tool depends on the other tools of a request."""
    return provider.limits_strict and requests_strict(tool, provider.name)


def is_counted(loss: Loss) -> bool:
    """Return whether a loss is a detail of parameters in the definition itself, which a change to the spec avoids."""
    return loss.pointer.startswith(_COUNTED) and not loss.is_inherent


def _loss_to_json(loss: Loss, position: str) -> JsonObject:
    entry: JsonObject = {"tool": loss.tool, "pointer": loss.pointer, "position": position}
    entry |= {"action": loss.action, "message": loss.message}
    return {**entry, "sdk": loss.sdk} if loss.sdk else entry


def _position(tool: LocatedTool, folder: Path, pointer: str) -> str:
    """Return the position in the spec, with the file's path relative to ``folder``, the current folder.

    For a file elsewhere, the position has only the file's name, because the output must be reproducible.
    """
    span = tool.pointer_span(pointer)
    return f"{_relative(span.path, folder)}:{span.start.line}:{span.start.column}"


@lru_cache(maxsize=64)
def _relative(path: str, folder: Path) -> str:
    file = Path(path)
    if not file.is_absolute():
        return path
    return file.relative_to(folder).as_posix() if file.is_relative_to(folder) else file.name


def depends_on_others(tool: ToolSpec) -> bool:
    """Return whether the texts of ``tool`` depend on other tools, which it calls or with which it shares a limit."""
    is_limited = any(_is_limited(tool, load_provider(choice.provider)) for choice in tool.providers)
    return is_limited or bool(called_tools(tool))


def join(tools: Iterable[RenderedTool], toolsets: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
    """Return the files of a build, by path relative to its folder. ``tools`` must be sorted by name."""
    columns = zip(*(tool.texts for tool in tools), strict=True)
    files: dict[str, bytes] = {}
    for path, (first, *others) in _literals(toolsets).items():
        parts: list[bytes] = [first]
        for literal in others:
            entries = [part for text in next(columns, ()) if text for part in (b",", text)]
            parts += [*entries[1:], literal]
        files[path] = b"".join(parts)  # joined in one step because these are many megabytes
    return files


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The result of a build, with the names of the tools and of the providers.

    ``losses`` is the number of details of parameters that a provider cannot express. ``loss.json`` also lists the
    labels, annotations and examples that a provider never supports.
    """

    names: tuple[str, ...]
    providers: tuple[str, ...]
    losses: int


def write_output(
    tools: Sequence[RenderedTool], names: Sequence[str], toolsets: Mapping[str, Sequence[str]], out: str | Path
) -> Built:
    """Replace the folder ``out`` with a build of these tools, sorted by name. Raises ``UsageError`` on failure."""
    write_files(Path(out), join(tools, toolsets))
    return Built(names=tuple(names), providers=tuple(PROVIDER_NAMES), losses=sum(each.losses for each in tools))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if sys.platform == "win32":  # concurrent builds are not locked
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _check_owned(target: Path, out: Path) -> None:
    """Raise ``UsageError`` if ``target`` contains anything that no build wrote."""
    if not target.exists():
        return
    if not target.is_dir():
        raise UsageError(f"cannot write {out}: it is not a folder; choose another folder with --out")
    listed = _listed(target / MANIFEST)
    foreign = sorted(path for path in _contents(target) if path not in listed)
    if foreign:
        raise UsageError(
            f"{out} contains files that toolc did not write ({foreign[0]}), and a build replaces the whole folder; "
            "move them, or choose another folder with --out"
        )


def _listed(manifest: Path) -> frozenset[str]:
    try:
        text = manifest.read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return frozenset()
    if not text.startswith(_HEADER):
        return frozenset()
    return frozenset(text.removeprefix(_HEADER).splitlines()) | {MANIFEST}


def _contents(folder: Path) -> Iterator[str]:
    """Yield the path of each file and each empty folder in ``folder``."""
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_dir() or not any(path.iterdir()):
            yield path.relative_to(folder).as_posix()


def _is_written(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Return whether a folder contains exactly what a build of ``files`` writes."""
    if not folder.exists() or {*_contents(folder)} != files.keys():
        return False
    modes = {path.lstat().st_mode for path in (folder, *folder.rglob("*"))}
    has_modes = modes <= {stat.S_IFREG | _FILE_MODE, stat.S_IFDIR | _FOLDER_MODE}
    return has_modes and all((folder / name).read_bytes() == data for name, data in files.items())


def _fill(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(_FILE_MODE)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(_FOLDER_MODE)


def _replace_folder(target: Path, new: Path) -> None:
    if not target.exists():
        new.rename(target)
        return
    if _exchange(new, target):
        return
    # The system or file system has no atomic exchange, so the folder is missing for a moment.
    old = _temporary_folder(target)
    target.rename(old)
    try:
        new.rename(target)
    except OSError:
        old.rename(target)
        raise


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders atomically. Return False if the system or file system cannot do that."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}:
        return False
    raise OSError(number, os.strerror(number))


def _temporary_prefix(target: Path) -> str:
    return f".{target.name}.toolc-build-"


def _temporary_folder(target: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=_temporary_prefix(target), dir=target.parent))


def _literals(toolsets: Mapping[str, Sequence[str]]) -> dict[str, tuple[bytes, ...]]:
    """Return the literals of each file. Between every two literals, there is one list of tools."""
    files: dict[str, tuple[bytes, ...]] = {REGISTRY_NAME: registry_frame(toolsets)}
    for name in PROVIDER_NAMES:
        inside = load_provider(name).lower(()).inside.encode()
        files[f"providers/{name}.json"] = (b'[{"%b":[' % inside, b"]}]") if inside else (b"[", b"]")
    first, *others = sorted(PROVIDER_NAMES)
    files["loss.json"] = (b'{"%b":[' % first.encode(), *[b'],"%b":[' % name.encode() for name in others], b"]}")
    files["openapi.json"] = _OPENAPI
    return files


def _operation_texts(tool: ToolSpec) -> tuple[bytes, bytes, bytes]:
    """Return the entries of a tool in the three lists of ``openapi.json``."""
    operation = openapi.operation(tool)
    entries = (
        (f"arguments.{tool.name}", operation.arguments),
        (f"result.{tool.name}", operation.result),
        (f"/tools/{tool.name}", operation.path_item),
    )
    arguments, result, path = (canonical({key: value})[1:-1] for key, value in entries)
    return arguments, result, path


def _losses_by_tool(tools: Sequence[ToolSpec], lowering: Lowering) -> Iterator[Sequence[Loss]]:
    """Yield the losses of each tool. ``lowering.losses`` must have the order of ``tools``."""
    at = 0
    for tool in tools:
        start = at
        while at < len(lowering.losses) and lowering.losses[at].tool == tool.name:
            at += 1
        yield lowering.losses[start:at]
