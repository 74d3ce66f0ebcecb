"""The user's own configuration, with settings that specs and repositories must not decide.

The file is ``$XDG_CONFIG_HOME/toolc/config.yaml`` or ``config.toml`` (in ``~/.config`` if the variable is not set)::

    engine: auto
    accept_unenforced: [memory, cpus]
    workspace_growth: 2GiB
    base_image: registry.example.com/tools/base:3
    secrets: {GITHUB_TOKEN: {env: GH_TOKEN}}
    warm: {word_count: 2}
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolc.config.secret_sources import SecretSource, read_sources
from toolc.document.loader import load_project
from toolc.document.map_reader import Findings, Reader, boolean, choice, integer, list_of, mapping, text
from toolc.document.nodes import Document, Node
from toolc.document.units import size
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.names import AUTO, IMAGE_NAME, engine_names
from toolc.model.plan import LIMITS
from toolc.model.spec.sandbox import MIB

NAMES: Final = ("config.yaml", "config.toml")
"""The possible names of the file, in the folder ``toolc`` of the user's configuration folder."""


MAX_WARM: Final = 1000
"""The maximum number of sandboxes per tool in ``warm``.

More is probably a typing mistake, because the limits of the pool are lower.
"""

WORKSPACE_GROWTH_BYTES: Final = 2048 * MIB
"""The default of ``workspace_growth``. Most builds write less, and most disks have more free space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A user's settings for all calls.

    ``accept_unenforced`` names the limits that need not be enforced if the host cannot enforce them.
    ``workspace_growth_bytes`` is how much a call may add to its workspace before it is stopped. ``secrets`` maps the
    name of a secret to the source of its value. ``base_image`` is the image for tools that name none, instead of
    toolc's own. With ``host_programs``, such tools run with the host's own programs on an engine without a daemon.
    ``warm`` maps the name of a tool to the number of its sandboxes that are started when an executor opens, and kept.
    With 0, no sandbox of the tool is ever started ahead.
    """

    engine: str = AUTO
    accept_unenforced: tuple[str, ...] = ()
    workspace_growth_bytes: int = WORKSPACE_GROWTH_BYTES
    secrets: Mapping[str, SecretSource] = field(default_factory=dict)
    base_image: str | None = None
    host_programs: bool = False
    warm: Mapping[str, int] = field(default_factory=dict)


def load_configuration(environment: Mapping[str, str] | None = None) -> Configuration:
    """Return the user's configuration, or the defaults if there is no file. Raises ``UsageError`` with the position."""
    environment = os.environ if environment is None else environment
    folder = configuration_folder(environment)
    # Without access to the home folder, as with sudo, there is no configuration.
    existing = [path for path in (folder / name for name in NAMES) if os.path.lexists(path)]
    if not existing:
        return Configuration()
    if len(existing) > 1:
        raise UsageError(f"both {existing[0]} and {existing[1].name} exist; keep one of them")
    _check_place(existing[0], environment)
    return _read(existing[0])


def configuration_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the file. As its specification requires, a relative ``XDG_CONFIG_HOME`` is ignored."""
    chosen = Path(environment.get("XDG_CONFIG_HOME", ""))
    base = chosen if chosen.is_absolute() else Path(environment.get("HOME") or "/") / ".config"
    return base / "toolc"


def _check_place(path: Path, environment: Mapping[str, str]) -> None:
    """Reject a file that another user could have written or created."""
    try:
        status = path.stat()
    except OSError as error:
        raise UsageError(f"{path} cannot be opened ({error.strerror}); fix the link, or remove it") from None
    if not stat.S_ISREG(status.st_mode):
        # Opening a pipe would wait for its writer.
        raise UsageError(f"{path} is not a regular file; put your configuration into a regular file")
    for each, state, mode in ((path, status, 600), (path.parent, path.parent.stat(), 700)):
        if state.st_uid not in {os.geteuid(), 0} or state.st_mode & 0o022:
            raise UsageError(
                f"{each} can be written by other users, so they may have changed it; "
                f"run: chown $USER {each} && chmod {mode} {each}"
            )
    repository = _repository(Path.cwd())
    if environment.get("XDG_CONFIG_HOME") and repository and path.resolve().is_relative_to(repository):
        raise UsageError(
            f"{path} is in the repository {repository}, but your own configuration must be outside of it; "
            "set XDG_CONFIG_HOME to another folder, or leave it unset"
        )


def _repository(folder: Path) -> Path | None:
    """Return the root of the Git repository that contains ``folder``, or None."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _read(path: Path) -> Configuration:
    diagnostics = Diagnostics()
    document = load_project(path, str(path), diagnostics, what="the configuration")
    configuration = _decode(document, Findings(document.source, diagnostics)) if document else Configuration()
    if diagnostics.has_errors:
        problems = (each for each in diagnostics.sorted() if each.is_error)
        lines = (f"{each.span}: {each.message}{f'; {each.hint}' if each.hint else ''}" for each in problems)
        raise UsageError("\n".join(lines))
    return configuration


def _image(node: Node, what: str, findings: Findings) -> str | None:
    name = text(node, what, findings)
    if name is not None and ("://" in name or not IMAGE_NAME.fullmatch(name)):
        findings.add(codes.BAD_VALUE, f"{what} is not an image name: {name[:80]!r}", node.span, "write e.g. debian:12")
        return None
    return name


def _numbers(node: Node, what: str, findings: Findings) -> dict[str, int] | None:
    """Read the number of sandboxes of each tool."""
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    parse = integer(0, MAX_WARM)
    found = {entry.key: parse(entry.value, f"{entry.key!r} in {what}", findings) for entry in map_node.entries}
    return {name: number for name, number in found.items() if number is not None}


def _decode(document: Document, findings: Findings) -> Configuration:
    reader = Reader(document.root, "the configuration", findings)
    configuration = Configuration(
        engine=reader.default("engine", choice(engine_names()), AUTO),
        accept_unenforced=reader.default("accept_unenforced", list_of(choice(LIMITS)), ()),
        workspace_growth_bytes=reader.default("workspace_growth", size, WORKSPACE_GROWTH_BYTES),
        secrets=reader.default("secrets", read_sources, {}),
        base_image=reader.optional("base_image", _image),
        host_programs=reader.default("host_programs", boolean, False),
        warm=reader.default("warm", _numbers, {}),
    )
    reader.close()
    return configuration
