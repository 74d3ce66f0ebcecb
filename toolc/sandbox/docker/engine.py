"""The docker engine: each sandbox is a container that ends with its stream and then removes itself.

A start is create, attach, start. With an attached stdin that is open only once, a container ends when this process
ends; so does a container whose guest uses a socket (``toolc.sandbox.docker.streams``). A container that was created
but not started would remain; the janitor or the sweep of the next process removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final

from toolc.model.errors import InfrastructureError, NoPythonError
from toolc.model.plan import Profile
from toolc.sandbox.base import NO_PYTHON, Capabilities, ContentDigests, EngineStatus, Leftover
from toolc.sandbox.docker import container as docker_container
from toolc.sandbox.docker import container_config, limits, streams, sweep
from toolc.sandbox.docker.api_client import ApiError, Client, NoHostError, find_socket
from toolc.sandbox.docker.container import EventStream
from toolc.sandbox.docker.daemon import Daemon, connect
from toolc.sandbox.docker.images import Images, ResolvedImage, missing_image, name_of
from toolc.sandbox.docker.sandbox import Container, DockerSandbox
from toolc.sandbox.docker.streams import AttachedStream, GuestListener, GuestSocketStream
from toolc.sandbox.host import janitor, kernel, store
from toolc.sandbox.host.kernel import kernel_kills, retry_transient
from toolc.sandbox.host.owner import Owner

LATE_SECONDS: Final = 600.0
"""How long after a request without an answer its container may still appear. Each start looks for it."""


class DockerEngine:
    """An ``Engine`` (see ``toolc.sandbox.base``) that uses a Docker or Podman daemon."""

    def __init__(self, socket_path: str | None = None) -> None:
        """``socket_path`` is the daemon's socket; None finds it like the ``docker`` command does."""
        self._socket_path = socket_path
        self._lock = threading.Lock()
        self._daemon: Daemon | None = None
        self._events: EventStream | None = None
        self._images = Images()
        # The ids of images in whose containers the daemon cannot mount a socket.
        self._without_socket: set[str] = set()
        # Containers that may exist although their start failed: by name, if the daemon did not answer.
        self._undone: dict[str, float] = {}
        # More concurrent starts than this slow each other down.
        self._starting = threading.BoundedSemaphore(2 * (os.cpu_count() or 1))

    @property
    def name(self) -> str:
        """The name for ``--engine``."""
        return "docker"

    def probe(self) -> EngineStatus:
        """Return whether a daemon answers that toolc can use."""
        try:
            daemon = self._connect()
        except NoHostError as error:
            return EngineStatus(available=False, reason=error.reason, remedy=error.remedy)
        return EngineStatus(available=True, version=daemon.version)

    def capabilities(self) -> tuple[Capabilities, ...]:
        """Return what the daemon enforces, for each kind of runtime that it has."""
        try:
            return limits.capabilities(self._connect())
        except NoHostError:
            return ()

    def unsupported_reason(self, profile: Profile) -> str | None:
        """Return why the daemon cannot meet the demands of ``profile``, or lacks its image; None if it can."""
        try:
            daemon = self._connect()
            return (
                container_config.unsupported_reason(profile, daemon)
                or _broken(profile, daemon)
                or self._images.missing(profile, daemon.client)
            )
        except NoHostError as error:
            return str(error)
        except ApiError as error:
            return f"the Docker daemon does not work: {error}"

    def overlay_obstacle(self, profile: Profile) -> str | None:
        """Return why this daemon cannot mount a workspace as an overlay; None if it may be tried."""
        try:
            return container_config.obstacle(profile, self._connect())
        except NoHostError as error:
            return str(error)

    def start(self, profile: Profile, arguments: Sequence[str]) -> DockerSandbox:
        """Start a container in which ``python3 ARGUMENTS...`` is process 1. Raises ``InfrastructureError``."""
        if reason := self.unsupported_reason(profile):
            raise InfrastructureError(reason)
        with self._daemon_for(profile) as daemon:
            ready = self._images.ready(profile, daemon.client, self._start_plain)
            return self._start(daemon, profile, arguments, ready)

    def content_digests(self, profile: Profile) -> ContentDigests:
        """See ``Engine``. Raises ``InfrastructureError``."""
        from toolc.sandbox.python.packages import packages_of  # most calls have no lock file

        with self._daemon_for(profile) as daemon:
            ready = self._images.ready(profile, daemon.client, self._start_plain)
            return ContentDigests(ready.used if profile.image else None, packages_of(ready.image.binds))

    @contextlib.contextmanager
    def _daemon_for(self, profile: Profile) -> Iterator[Daemon]:
        """Yield the daemon for creating sandboxes of ``profile``; turn its errors into messages for the user."""
        daemon = self._connect()
        try:
            yield daemon
        except NoHostError as error:
            raise InfrastructureError(str(error)) from error
        except InfrastructureError:
            # Outdated knowledge of the image may be the cause: inspect it again next time.
            self._images.forget(profile)
            raise
        except ApiError as error:
            self._images.forget(profile)
            if error.status == 0:
                # There was no answer: ask the next daemon at this socket for its description again.
                self._disconnect()
            _remember(profile, daemon, error)
            if reason := _broken(profile, daemon):
                raise InfrastructureError(reason) from error
            raise _explained(profile, name_of(profile), error) from error

    def leftovers(self) -> tuple[Leftover, ...]:
        """Return containers, then volumes. Raises ``InfrastructureError``."""
        try:
            return sweep.leftovers(self._connect().client)
        except NoHostError as error:
            raise InfrastructureError(str(error)) from error
        except ApiError as error:
            raise InfrastructureError(f"the Docker daemon does not work: {error}") from error

    def close(self) -> None:
        """End the stream of events. A later start opens it again."""
        with self._lock:
            events, self._events = self._events, None
        if events is not None:
            events.stop()

    def _connect(self) -> Daemon:
        with self._lock:
            if self._daemon is None:
                self._daemon = connect(self._socket_path or find_socket(os.environ))
            return self._daemon

    def _disconnect(self) -> None:
        with self._lock:
            self._daemon = None

    def _start_plain(self, ready: ResolvedImage, arguments: Sequence[str]) -> DockerSandbox:
        """Start a sandbox of an image that inspects the image and runs no call."""
        try:
            return self._start(self._connect(), Profile(), arguments, ready)
        except ApiError as error:
            raise _explained(Profile(), ready.name, error) from error

    def _start(self, daemon: Daemon, profile: Profile, arguments: Sequence[str], ready: ResolvedImage) -> DockerSandbox:
        if ready.image.id not in self._without_socket and streams.is_of_use(profile, arguments, daemon):
            listener = streams.listen()
            if listener is not None:
                return self._start_with(listener, daemon, profile, arguments, ready)
        return retry_transient(lambda: self._start_once(daemon, profile, arguments, ready), ApiError)

    def _start_with(
        self, listener: GuestListener, daemon: Daemon, profile: Profile, arguments: Sequence[str], ready: ResolvedImage
    ) -> DockerSandbox:
        """Start a sandbox that uses a socket; start it without one if the daemon refuses the socket."""
        words, shown = (*arguments, streams.ARGUMENT), replace(ready, image=listener.shown_in(ready.image))
        with contextlib.ExitStack() as undo:
            undo.callback(listener.close)
            try:
                sandbox = retry_transient(lambda: self._start_once(daemon, profile, words, shown, listener), ApiError)
            except ApiError as error:
                if error.status == 0:
                    raise
            else:
                undo.pop_all()
                return sandbox
        sandbox = retry_transient(lambda: self._start_once(daemon, profile, arguments, ready), ApiError)
        self._without_socket.add(ready.image.id)
        return sandbox

    def _start_once(
        self,
        daemon: Daemon,
        profile: Profile,
        arguments: Sequence[str],
        ready: ResolvedImage,
        listener: GuestListener | None = None,
    ) -> DockerSandbox:
        if profile.workspace and profile.workspace.mode == "overlay":
            kernel.prepare(profile.workspace, *map(int, container_config.user_of(profile, daemon).spec.split(":")))
        client, owner = daemon.client, Owner.current().label()
        janitor.register(sweep.command(client, owner))
        events = self._follow(daemon, owner)
        self._make_good(client)
        body = container_config.create_config(profile, arguments, daemon=daemon, image=ready.image, owner=owner)
        # The name is chosen here, so that the container can be removed even if the answer to its creation is lost.
        name = f"toolc-{os.urandom(8).hex()}"
        kills = kernel_kills() if daemon.kernel == os.uname().release else None
        with self._starting, contextlib.ExitStack() as undo:
            undo.push(lambda _, error, __: self._discard(client, name, error))
            container = docker_container.create(client, name, body)
            undo.callback(events.forget, container)
            events.watch(container)
            attached = AttachedStream(docker_container.attach(client, container)[0])
            undo.callback(attached.close)
            created = perf_counter()
            docker_container.start(client, container)
            wire = GuestSocketStream(listener, attached) if listener else None
            undo.pop_all()
        about = Container(
            id=container,
            user=container_config.user_of(profile, daemon).described,
            image=ready.used,
            created=created,
            guarded=container_config.guards_process_1(profile, daemon),
            kernel_kills=kills,
        )
        return DockerSandbox(about, client=client, attached=attached, wire=wire, events=events)

    def _discard(self, client: Client, name: str, error: BaseException | None) -> None:
        """Remove what a start that failed with ``error`` has created. Do not raise: ``error`` is what the user must
        see."""
        try:
            found = docker_container.remove(client, name)
            answered = found or not isinstance(error, ApiError) or error.status != 0
        except ApiError:
            answered = False
        if not answered:
            # The daemon may still create it later.
            self._undone[name] = time.monotonic() + LATE_SECONDS

    def _make_good(self, client: Client) -> None:
        """Remove containers that the daemon has created after it failed to answer."""
        for name, until in [*self._undone.items()]:
            with contextlib.suppress(ApiError):
                if docker_container.remove(client, name) or time.monotonic() > until:
                    self._undone.pop(name, None)

    def _follow(self, daemon: Daemon, owner: str) -> EventStream:
        """Return the stream of events of this process. A forked child needs a separate one."""
        with self._lock:
            if self._events is None or self._events.owner != owner or not self._events.alive:
                first = self._events is None
                self._events = EventStream(daemon.client, owner)
                with contextlib.suppress(ApiError):
                    if first:
                        streams.remove_left()
                        sweep.sweep(daemon.client, sweep.belongs_to_dead)
                    # A daemon that stops loses track of the volumes of its containers.
                    sweep.sweep_volumes(daemon.client, lambda label: label == owner or sweep.belongs_to_dead(label))
            return self._events


def engine() -> DockerEngine:
    """Return a new engine, for ``toolc.sandbox.selection``."""
    return DockerEngine()


def _broken(profile: Profile, daemon: Daemon) -> str | None:
    """Return why the runtime with the isolation that ``profile`` demands is known not to work; None otherwise."""
    runtime = container_config.runtime_of(profile, daemon)
    if runtime is None or runtime.isolation == "namespace":
        return None
    return limits.recall(daemon, runtime)


def _remember(profile: Profile, daemon: Daemon, error: ApiError) -> None:
    runtime = container_config.runtime_of(profile, daemon)
    if runtime and runtime.isolation != "namespace" and limits.is_runtimes_own(str(error)):
        limits.remember(daemon, runtime, str(error))


def _explained(profile: Profile, name: str, error: ApiError) -> InfrastructureError:
    """Turn a failed start into an error message for the user; ``name`` is the image's."""
    message = str(error)
    if re.search(NO_PYTHON, message):
        return NoPythonError(f"the image {name} has no python3 that starts")
    if "bind source path does not exist" in message and str(store.place()) in message:
        return InfrastructureError(
            f"the Docker daemon does not see what toolc keeps in {store.place()}: it runs on another machine or in "
            f"another container; set {store.VARIABLE} to a folder that the daemon can see"
        )
    if "bind source path does not exist" in message and profile.workspace:
        return InfrastructureError(
            f"the Docker daemon sees no folder {profile.workspace.source}: it was removed, or the daemon runs on "
            "another machine or in another container; use a workspace that the daemon can see"
        )
    if error.status == 404 and "No such image" in message:
        return InfrastructureError(missing_image(name))
    return InfrastructureError(f"Docker could not start a sandbox: {message}")
