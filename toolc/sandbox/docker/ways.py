"""The ways to start a container, in the order in which they are tried.

A guest talks to toolc through a socket that toolc mounts into its container, or through the daemon's own stream, which
two programs of the daemon copy. For the names in ``/etc``, toolc mounts files and the runtime creates a network
namespace. Otherwise the daemon writes these files and runs its network code, which takes half the time of a start.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from toolc.dataclass import dataclass
from toolc.model.plan import Profile
from toolc.sandbox.docker import container_config, streams
from toolc.sandbox.docker.api_client import ApiError
from toolc.sandbox.docker.daemon import Daemon
from toolc.sandbox.host.kernel import retry_transient
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.host.start_folder import StartFolderError

MOUNTED_FILES: Final = ("/etc/hosts", "/etc/resolv.conf")
"""The mount points of toolc's files."""

Started = TypeVar("Started")


def has_answered(error: ApiError) -> bool:
    """Return whether the daemon has answered the failed request, so that another request makes sense."""
    return error.status != 0


def is_about_files(error: ApiError) -> bool:
    """Return whether the daemon cannot mount toolc's files, for example because it sees another folder at their path.

    Docker Desktop's message has a different path for the file, but it names the mount point.
    """
    words = (*MOUNTED_FILES, f"/{Owner.current().label()}/")
    return has_answered(error) and any(word in str(error) for word in words)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to start a container.

    It is skipped for one start if it does not fit the daemon, the profile or the program, or if a file that it needs
    cannot be created. If ``is_refused`` is true for the daemon's error and another way has worked, it is skipped for
    all further starts of the same image, as long as the engine exists.
    """

    has_socket: bool
    has_files: bool
    is_refused: Callable[[ApiError], bool]

    def fits(self, profile: Profile, arguments: Sequence[str], daemon: Daemon) -> bool:
        """Return whether this way may work with ``arguments`` of process 1."""
        may_have_socket = not self.has_socket or streams.uses_socket(profile, arguments, daemon)
        return may_have_socket and (not self.has_files or container_config.runtime_makes_network(profile, daemon))


WAYS: Final = (
    Way(has_socket=True, has_files=True, is_refused=has_answered),
    Way(has_socket=False, has_files=True, is_refused=is_about_files),
    Way(has_socket=True, has_files=False, is_refused=has_answered),
    Way(has_socket=False, has_files=False, is_refused=lambda _: False),
)


class Ways:
    """The ways to start a container, without those that the daemon of an engine has refused for an image."""

    def __init__(self) -> None:
        self._refused: set[tuple[str, Way]] = set()

    def start(self, image_id: str, ways: Sequence[Way], start: Callable[[Way], Started]) -> Started:
        """Return the result of ``start`` with the first of ``ways`` that works.

        Raises ``ApiError`` and ``InfrastructureError``.
        """
        *others, last = [way for way in ways if (image_id, way) not in self._refused]
        refused = []
        for way in others:
            try:
                started = retry_transient(partial(start, way), ApiError)
                break
            except StartFolderError:
                pass
            except ApiError as error:
                if not way.is_refused(error):
                    raise
                refused.append((image_id, way))
        else:
            started = retry_transient(partial(start, last), ApiError)
        self._refused.update(refused)
        return started
