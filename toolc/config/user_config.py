"""The user's own configuration, with settings that specs and repositories must not decide.

It is in ``$XDG_CONFIG_HOME/toolc/config.yaml`` or ``config.toml`` (``~/.config`` if the variable is not set)::

    engine: auto
    accept_unenforced: [memory, cpus]
    secrets: {GITHUB_TOKEN: {env: GH_TOKEN}}
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolc.config.secret_sources import SecretSource, read_sources
from toolc.document.loader import load_project
from toolc.document.map_reader import Findings, Reader, choice, list_of
from toolc.document.nodes import Document
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.names import AUTO, engine_names
from toolc.model.plan import LIMITS

__all__ = ["Configuration", "load_configuration"]


NAMES: Final = ("config.yaml", "config.toml")
"""The names of the file, in the folder ``toolc`` of the user's configuration folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A user's settings for all calls.

    ``accept_unenforced`` names limits that need not be enforced if the host cannot enforce them. ``secrets`` maps
    the name of a secret to the source of its value.
    """

    engine: str = AUTO
    accept_unenforced: tuple[str, ...] = ()
    secrets: Mapping[str, SecretSource] = field(default_factory=dict)


def load_configuration(environment: Mapping[str, str] | None = None) -> Configuration:
    """Return the user's configuration, or the defaults without a file. Raises ``UsageError`` with the position."""
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
    """Return the folder of the file. A relative ``XDG_CONFIG_HOME`` is ignored, as its specification requires."""
    chosen = Path(environment.get("XDG_CONFIG_HOME", ""))
    base = chosen if chosen.is_absolute() else Path(environment.get("HOME") or "/") / ".config"
    return base / "toolc"


def _check_place(path: Path, environment: Mapping[str, str]) -> None:
    """Reject a file that another user could have written or put there."""
    try:
        status = path.stat()
    except OSError as error:
        raise UsageError(f"{path} cannot be opened ({error.strerror}); fix the link, or remove it") from None
    if not stat.S_ISREG(status.st_mode):
        # Opening a pipe would wait for its writer.
        raise UsageError(f"{path} is not a regular file; put your configuration into one")
    for each, state, mode in ((path, status, 600), (path.parent, path.parent.stat(), 700)):
        if state.st_uid not in {os.geteuid(), 0} or state.st_mode & 0o022:
            raise UsageError(
                f"{each} can be written by other users, so they may have changed it; "
                f"run: chown $USER {each} && chmod {mode} {each}"
            )
    repository = _repository(Path.cwd())
    if environment.get("XDG_CONFIG_HOME") and repository and path.resolve().is_relative_to(repository):
        raise UsageError(
            f"{path} is in the repository {repository}, but your own configuration must be outside of it: "
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


def _decode(document: Document, findings: Findings) -> Configuration:
    reader = Reader(document.root, "the configuration", findings)
    configuration = Configuration(
        engine=reader.default("engine", choice(engine_names()), AUTO),
        accept_unenforced=reader.default("accept_unenforced", list_of(choice(LIMITS)), ()),
        secrets=reader.default("secrets", read_sources, {}),
    )
    reader.close()
    return configuration
