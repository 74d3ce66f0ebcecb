"""The docker engine: each sandbox is a container that ends with its stream and then removes itself.

To start a sandbox, the engine creates a container, attaches to it and starts it. The guest uses a socket
(``toolc.sandbox.docker.streams``), so it ends when this process ends. The same holds for a container with an attached
stdin that opens only once. A container that was created but not started would remain, so the janitor or the sweep of
the next process removes it.
"""

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Final

from toolc.guest.bundle import prepare_bundle
from toolc.model.errors import InfrastructureError, NoPythonError, raise_shortage
from toolc.model.plan import Profile
from toolc.sandbox.docker import container_config, enforced_limits, streams, sweep
from toolc.sandbox.docker.api_client import ApiError, Client, NoDaemonError, find_socket
from toolc.sandbox.docker.container import (
    EventStream,
    attach_container,
    create_container,
    open_process,
    remove_container,
    start_container,
)
from toolc.sandbox.docker.daemon import Daemon, DaemonQuery
from toolc.sandbox.docker.docker_sandbox import DockerSandbox
from toolc.sandbox.docker.images import Images, ResolvedImage, missing_image, name_of
from toolc.sandbox.docker.streams import AttachedStream, GuestSocketStream
from toolc.sandbox.docker.ways import WAYS, Way, Ways
from toolc.sandbox.host import janitor, start_folder, store
from toolc.sandbox.host.kernel import kernel_kills, prepare_overlay
from toolc.sandbox.host.live_sandboxes import LiveSandboxes
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.host.start_folder import StartFolder
from toolc.sandbox.interface import NO_PYTHON, Capabilities, ContentDigests, EngineSandbox, EngineStatus, Leftover

LATE_SECONDS: Final = 600.0
"""How long removing a container is retried if the daemon has not responded to a request, in seconds.

An overloaded daemon may create a container minutes after its client gave up.
"""


class DockerEngine:
    """A ``PoolEngine`` (see ``toolc.sandbox.interface``) that uses a Docker or Podman daemon."""

    name = "docker"

    def __init__(self, socket_path: str | None = None) -> None:
        """``socket_path`` is the daemon's socket. By default it is found as the ``docker`` command finds it."""
        self._socket_path = socket_path
        self._lock = threading.Lock()
        self._query: DaemonQuery | None = None
        self._daemon: Daemon | None = None
        self._live = LiveSandboxes[DockerSandbox, EventStream]()
        self._images = Images()
        self._ways = Ways()
        # The daemon did not respond, so these containers may still appear: until when, by name.
        self._late: dict[str, float] = {}

    def begin_probe(self) -> None:
        """See ``DaemonEngine``."""
        with self._lock, contextlib.suppress(NoDaemonError):
            if self._daemon is None and self._query is None:
                self._query = self._send_query()

    def probe(self) -> EngineStatus:
        """Return whether a usable daemon responds."""
        try:
            daemon = self._connect()
        except NoDaemonError as error:
            return EngineStatus(available=False, reason=error.reason, remedy=error.remedy)
        return EngineStatus(available=True, version=daemon.version)

    def capabilities(self) -> tuple[Capabilities, ...]:
        """Return what the daemon enforces for each kind of isolation that its runtimes provide."""
        try:
            return enforced_limits.capabilities(self._connect())
        except NoDaemonError:
            return ()

    def unsupported_reason(self, profile: Profile) -> str | None:
        """Return why the daemon cannot meet the demands of ``profile`` or lacks its image, or None if it can run it."""
        try:
            daemon = self._connect()
            return container_config.unsupported_reason(profile, daemon) or self._images.missing_reason(
                profile, daemon.client
            )
        except NoDaemonError as error:
            return str(error)
        except ApiError as error:
            _raise_shortage(error)
            return f"the Docker daemon does not work: {error}"

    def start(self, profile: Profile, arguments: Sequence[str]) -> DockerSandbox:
        """Start a container in which ``python3 ARGUMENTS...`` is process 1. Raises ``InfrastructureError``."""
        if reason := self.unsupported_reason(profile):
            raise InfrastructureError(reason)
        with self._daemon_for(profile) as daemon:
            try:
                return self._start(daemon, profile, arguments, self._resolved(profile, daemon))
            except ApiError as error:
                if error.status != 404 or profile.image or profile.build:
                    raise
                # The base image was removed from the daemon: load it again.
                self._images.forget(profile)
            return self._start(daemon, profile, arguments, self._resolved(profile, daemon))

    def content_digests(self, profile: Profile) -> ContentDigests:
        """See ``Engine``. Raises ``InfrastructureError``."""
        from toolc.sandbox.python.packages import packages_of  # lazy: +4 ms, and calls do not need it

        with self._daemon_for(profile) as daemon:
            image = self._resolved(profile, daemon)
            return ContentDigests(None if profile.build else image.used, packages_of(image.local.binds))

    def _resolved(self, profile: Profile, daemon: Daemon) -> ResolvedImage:
        return self._images.resolve(profile, daemon.client, self._start_plain)

    @contextlib.contextmanager
    def _daemon_for(self, profile: Profile) -> Iterator[Daemon]:
        """Yield the daemon for creating sandboxes of ``profile``, and turn its errors into messages for the user."""
        daemon = self._connect()
        try:
            yield daemon
        except NoDaemonError as error:
            raise InfrastructureError(str(error)) from error
        except InfrastructureError:
            # The cached description of the image may be outdated: inspect it again next time.
            self._images.forget(profile)
            raise
        except ApiError as error:
            self._images.forget(profile)
            _raise_shortage(error)
            if error.status == 0:
                # No response: query the daemon at this socket again next time.
                self._disconnect()
            if reason := enforced_limits.runtime_failure(container_config.runtime_of(profile, daemon), str(error)):
                raise InfrastructureError(reason) from error
            raise _start_error(profile, name_of(profile), error) from error

    def profile_ahead(self, profile: Profile) -> Profile:
        """See ``PoolEngine``."""
        if profile.workspace is None or self._live.mount_helper.has_failed:
            return profile
        try:
            can_mount = container_config.can_mount_later(profile, self._connect())
        except (NoDaemonError, OSError):
            return profile
        return replace(profile, workspace=profile.workspace.without_source()) if can_mount else profile

    def mount_workspace(self, profile: Profile, sandbox: EngineSandbox) -> None:
        """See ``PoolEngine``. Raises ``InfrastructureError``."""
        assert profile.workspace is not None
        assert isinstance(sandbox, DockerSandbox)
        # As in ``container_config``, a read-only workspace does not include the mounts below it.
        is_recursive = profile.workspace.mode == "rw"
        self._live.mount_helper.mount(sandbox.process, profile.workspace, 0, None, recursive=is_recursive)

    def is_current(self, profile: Profile, sandbox: EngineSandbox) -> bool:
        """Return whether ``profile`` still refers to the image of ``sandbox``, and the daemon has not stopped."""
        image = self._images.resolved(profile)
        events = self._live.kept
        is_connected = isinstance(sandbox, DockerSandbox) and events is sandbox.events and events.is_alive
        return is_connected and image is not None and image.used == sandbox.image

    def leftovers(self) -> tuple[Leftover, ...]:
        """Return containers, then volumes. Raises ``InfrastructureError``."""
        try:
            return sweep.leftovers(self._connect().client)
        except NoDaemonError as error:
            raise InfrastructureError(str(error)) from error
        except ApiError as error:
            raise InfrastructureError(f"the Docker daemon does not work: {error}") from error

    @property
    def closings(self) -> int:
        """See ``PoolEngine``."""
        return self._live.closings

    def close(self) -> None:
        """Stop the remaining containers, and close the stream of events. A later start opens it again."""
        self._live.close(EventStream.stop)

    def _connect(self) -> Daemon:
        with self._lock:
            if self._daemon is None:
                query, self._query = self._query or self._send_query(), None
                self._daemon = query.read()
            return self._daemon

    def _send_query(self) -> DaemonQuery:
        return DaemonQuery(self._socket_path or find_socket(os.environ))

    def _disconnect(self) -> None:
        with self._lock:
            self._daemon = None

    def _start_plain(self, image: ResolvedImage, arguments: Sequence[str]) -> DockerSandbox:
        """Start a sandbox to inspect an image. It runs no call."""
        try:
            return self._start(self._connect(), Profile(), arguments, image)
        except ApiError as error:
            raise _start_error(Profile(), image.name, error) from error

    def _start(self, daemon: Daemon, profile: Profile, arguments: Sequence[str], image: ResolvedImage) -> DockerSandbox:
        ways = [way for way in WAYS if way.fits(profile, arguments, daemon)]

        def start(way: Way) -> DockerSandbox:
            return self._live.start(partial(self._start_once, daemon, profile, arguments, image, way))

        return self._ways.start(image.local.id, ways, start)

    def _start_once(
        self, daemon: Daemon, profile: Profile, arguments: Sequence[str], image: ResolvedImage, way: Way
    ) -> DockerSandbox:
        user = container_config.user_of(profile, daemon)
        if profile.workspace and profile.workspace.mode == "overlay":
            prepare_overlay(profile.workspace, *map(int, user.spec.split(":")))
        client, owner = daemon.client, Owner.current().label()
        janitor.register("container", client.socket_path, client.version_prefix, owner)
        events = self._live.keep(partial(self._event_stream, daemon, owner))
        self._remove_late(client)
        # With a name chosen here, the container can be removed even if the response to its creation is lost.
        name = f"toolc-{os.urandom(8).hex()}"
        kills = kernel_kills() if daemon.kernel == os.uname().release else None
        folder = StartFolder()
        with contextlib.ExitStack() as undo:
            undo.callback(folder.close)
            local, listener = image.local, None
            if way.has_socket:
                listener = streams.listen(folder)
                undo.callback(listener.close)
                arguments, socket = (*arguments, streams.ARGUMENT), (str(listener.folder), streams.FOLDER)
                local = replace(local, binds=(*local.binds, socket))
            body = container_config.create_config(
                profile, arguments, daemon=daemon, image=local, owner=owner, folder=folder, has_files=way.has_files
            )
            undo.push(lambda _, error, __: self._discard(client, name, error))
            container = create_container(client, name, body)
            undo.callback(events.unwatch, container)
            events.watch(container)
            attached = AttachedStream(attach_container(client, container)[0])
            undo.callback(attached.close)
            created = perf_counter()
            prepare_bundle()
            start_container(client, container)
            process = self._open_process(client, container, profile)
            if process >= 0:
                undo.callback(os.close, process)
            stream = GuestSocketStream(listener, attached) if listener else attached
            undo.pop_all()
        return DockerSandbox(
            container=container, user=user.described, image=image.used, created=created,
            guarded=container_config.guards_process_1(profile, daemon), kernel_kills=kills, client=client,
            attached=attached, stream=stream, events=events, remove_later=self._remove_later,
            process=process, folder=folder,
        )  # fmt: skip

    def _open_process(self, client: Client, container: str, profile: Profile) -> int:
        """Return a descriptor of process 1 if the workspace is mounted later, otherwise -1.

        Raises ``ApiError``, or ``InfrastructureError`` if the workspace cannot be mounted later.
        """
        if profile.workspace is None or profile.workspace.source:
            return -1
        process = open_process(client, container)
        if process is None:
            self._live.mount_helper.has_failed = True
            raise InfrastructureError(f"process 1 of the container {container[:12]} cannot be found on this machine")
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, process)
            self._live.mount_helper.prepare(process)
            undo.pop_all()
        return process

    def _discard(self, client: Client, name: str, error: BaseException | None) -> None:
        """Remove the objects that a failed start has created. Does not raise, because the user must see ``error``."""
        try:
            found = remove_container(client, name)
            certain = found or not isinstance(error, ApiError) or error.status != 0
        except ApiError:
            certain = False
        if not certain:
            # The daemon may still create it later.
            self._remove_later(name)

    def _remove_later(self, container: str) -> None:
        self._late[container] = time.monotonic() + LATE_SECONDS

    def _remove_late(self, client: Client) -> None:
        """Remove containers that the daemon created, or did not remove, while it failed to respond."""
        for name, until in [*self._late.items()]:
            with contextlib.suppress(ApiError):
                if remove_container(client, name) or time.monotonic() > until:
                    self._late.pop(name, None)

    def _event_stream(self, daemon: Daemon, owner: str, current: EventStream | None) -> EventStream:
        """Return the stream of events of this process, which is the ``current`` one while that is open."""
        if current and current.is_alive:
            return current
        events = EventStream(daemon.client, owner)
        with contextlib.suppress(ApiError):
            if current is None:
                sweep.sweep(daemon.client, sweep.CONTAINER, sweep.is_stale)
                start_folder.remove_stale()
            # A daemon that stops forgets the volumes of its containers.
            sweep.sweep(daemon.client, "volume", lambda label: label == owner or sweep.is_stale(label))
        return events


def _raise_shortage(error: ApiError) -> None:
    if error.__cause__:
        raise_shortage(error.__cause__)


def _start_error(profile: Profile, name: str, error: ApiError) -> InfrastructureError:
    """Return the error of a failed start with a message for the user. ``name`` is the name of the image."""
    message = str(error)
    if re.search(NO_PYTHON, message):
        return NoPythonError(f"the image {name} has no python3 that can be started")
    if "bind source path does not exist" in message and str(store.directory()) in message:
        return InfrastructureError(
            "the Docker daemon runs on another machine or in another container, so it cannot access the images and "
            f"packages in {store.directory()}; set {store.VARIABLE} to a folder that the daemon can access"
        )
    if "bind source path does not exist" in message and profile.workspace:
        if profile.workspace.scratch and profile.workspace.mode == "rw":
            return InfrastructureError(
                "the Docker daemon runs on another machine or in another container, so it cannot find the copy of the "
                f"workspace in {profile.workspace.source}; set XDG_STATE_HOME to a folder that the daemon can access"
            )
        return InfrastructureError(
            f"the Docker daemon cannot find the workspace {profile.workspace.source}: it was removed, or the daemon "
            "runs on another machine or in another container; use a workspace that the daemon can access"
        )
    if error.status == 404 and "No such image" in message:
        return InfrastructureError(missing_image(name))
    return InfrastructureError(f"Docker could not start a sandbox: {message}")


engine = DockerEngine
"""The class of the engine, for ``toolc.sandbox.selection``."""
