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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from toolc.config.configuration import Configuration
from toolc.model.errors import UsageError

NAMES: Final = ("config.yaml", "config.toml")
"""The possible names of the file, in the folder ``toolc`` of the user's configuration folder."""


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
    return read_private(existing[0], may_be_in_repository=not environment.get("XDG_CONFIG_HOME"))


def read_private(path: Path, *, may_be_in_repository: bool = False) -> Configuration:
    """Return the configuration in this file, which other users must not be able to change. Raises ``UsageError``."""
    _check_place(path, may_be_in_repository=may_be_in_repository)
    from toolc.config.files import read_configuration  # lazy: +10 ms (documents); most users have no file

    return read_configuration(path)


def configuration_source(path: Path | None) -> tuple[tuple[Path, ...], Callable[[], Configuration]]:
    """Return the files that may contain the configuration, and a function that reads it.

    ``path`` replaces the default.
    """
    if path is not None:
        return (path,), lambda: read_private(path)
    folder = configuration_folder(os.environ)
    return tuple(folder / name for name in NAMES), load_configuration


def configuration_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the file. As its specification requires, a relative ``XDG_CONFIG_HOME`` is ignored."""
    chosen = Path(environment.get("XDG_CONFIG_HOME", ""))
    base = chosen if chosen.is_absolute() else Path(environment.get("HOME") or "/") / ".config"
    return base / "toolc"


def _check_place(path: Path, *, may_be_in_repository: bool) -> None:
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
    if not may_be_in_repository and repository and path.resolve().is_relative_to(repository):
        raise UsageError(
            f"{path} is in the repository {repository}, but your own configuration must be outside of it; "
            "set XDG_CONFIG_HOME to another folder, or leave it unset"
        )


def _repository(folder: Path) -> Path | None:
    """Return the root of the Git repository that contains ``folder``, or None."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
