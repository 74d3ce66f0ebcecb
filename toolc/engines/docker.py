"""The docker engine: each sandbox is a container that ends with its stream and then removes itself.

A start is create, attach, start, over a client of our own. Attached before it starts, with a stdin that is
open once, a container ends when this process does; one that was created and not yet started would stay, and
is removed by the janitor, or by the next process's sweep.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from typing import Final

from toolc.engines import docker_body, docker_container, docker_sweep, janitor
from toolc.engines.base import Probe
from toolc.engines.docker_body import LocalImage
from toolc.engines.docker_daemon import Daemon, connect
from toolc.engines.docker_events import Events
from toolc.engines.docker_host import NoHostError, find_socket
from toolc.engines.docker_http import ApiError
from toolc.engines.docker_sandbox import DockerSandbox
from toolc.engines.images import base_tag
from toolc.engines.owner import Owner
from toolc.errors import InfrastructureError
from toolc.plan import Profile

BUILD_BASE: Final = "toolc image build base"
"""The command that makes the base image."""


class DockerEngine:
    """An ``Engine`` (see ``toolc.engines.base``) that asks a Docker or Podman daemon."""

    def __init__(self, socket_path: str | None = None) -> None:
        """``socket_path`` is the daemon's socket; None finds it as ``docker`` itself would."""
        self._socket_path = socket_path
        self._lock = threading.Lock()
        self._daemon: Daemon | None = None
        self._events: Events | None = None
        self._images: dict[str, LocalImage] = {}

    @property
    def name(self) -> str:
        """The word for ``--engine``."""
        return "docker"

    def probe(self) -> Probe:
        """Whether a daemon answers that toolc can work with."""
        try:
            daemon = self._connect()
        except NoHostError as error:
            return Probe(available=False, reason=error.reason, remedy=error.remedy)
        return Probe(available=True, version=daemon.version)

    def refusal(self, profile: Profile) -> str | None:
        """Why the daemon cannot keep what ``profile`` demands, or lacks its image; None if it can."""
        try:
            daemon = self._connect()
            return docker_body.refusal(profile, daemon) or self._missing_image(profile, daemon)
        except NoHostError as error:
            return str(error)
        except ApiError as error:
            return f"the Docker daemon does not work: {error}"

    def start(self, profile: Profile, arguments: Sequence[str]) -> DockerSandbox:
        """Start a container in which ``python3 ARGUMENTS...`` is process 1. Raises ``InfrastructureError``."""
        if reason := self.refusal(profile):
            raise InfrastructureError(reason)
        try:
            return self._start(self._connect(), profile, arguments)
        except NoHostError as error:
            raise InfrastructureError(str(error)) from error
        except ApiError as error:
            # What was known of the image may be the cause: look again next time.
            self._images.pop(_image_name(profile), None)
            raise InfrastructureError(_explain(profile, error)) from error

    def close(self) -> None:
        """End the stream of events; a later start opens it again."""
        with self._lock:
            events, self._events = self._events, None
        if events is not None:
            events.stop()

    def _connect(self) -> Daemon:
        with self._lock:
            if self._daemon is None:
                self._daemon = connect(self._socket_path or find_socket(os.environ))
            return self._daemon

    def _missing_image(self, profile: Profile, daemon: Daemon) -> str | None:
        name = _image_name(profile)
        if name not in self._images:
            image = docker_container.find_image(daemon.client, name)
            if image is None and profile.image is None:
                return f"toolc's base image {name} is not built; build it with: {BUILD_BASE}"
            if image is None:
                return f"the image {name} is not on this host; get it with: docker pull {name}"
            self._images[name] = image
        return None

    def _start(self, daemon: Daemon, profile: Profile, arguments: Sequence[str]) -> DockerSandbox:
        client, owner = daemon.client, Owner.current().label()
        janitor.register(docker_sweep.command(client, owner))
        events = self._follow(daemon, owner)
        body = docker_body.create_body(
            profile, arguments, daemon=daemon, image=self._images[_image_name(profile)], owner=owner
        )
        # Named by us, so that it can be removed even where the answer to its creation is lost.
        name = f"toolc-{os.urandom(8).hex()}"
        with contextlib.ExitStack() as undo:
            undo.callback(_discard, daemon, name)
            container = docker_container.create(client, name, body)
            undo.callback(events.forget, container)
            events.watch(container)
            stream, _ = docker_container.attach(client, container)
            undo.callback(stream.close)
            docker_container.start(client, container)
            undo.pop_all()
        user = docker_body.user_of(profile, daemon).described
        return DockerSandbox(client=client, container=container, user=user, stream=stream, events=events)

    def _follow(self, daemon: Daemon, owner: str) -> Events:
        """The stream of events of this process; a forked child needs its own."""
        with self._lock:
            if self._events is None or self._events.owner != owner or not self._events.alive:
                first = self._events is None
                self._events = Events(daemon.client, owner)
                if first:
                    with contextlib.suppress(ApiError):
                        docker_sweep.sweep(daemon.client, docker_sweep.belongs_to_dead)
            return self._events


def engine() -> DockerEngine:
    """The engine as ``toolc.engines.select`` makes it."""
    return DockerEngine()


def _image_name(profile: Profile) -> str:
    return profile.image or base_tag()


def _discard(daemon: Daemon, container: str) -> None:
    # Whatever made the start fail is what the user must hear; the janitor tries again.
    with contextlib.suppress(ApiError):
        docker_container.remove(daemon.client, container)


def _explain(profile: Profile, error: ApiError) -> str:
    """A failed start in a user's words."""
    message = str(error)
    name = _image_name(profile)
    if "executable file not found" in message:
        return f"the image {name} has no python3, which toolc needs in it; add Python 3.9 or newer to the image"
    if "bind source path does not exist" in message and profile.workspace:
        return (
            f"the Docker daemon sees no folder {profile.workspace.source}: it was removed, or the daemon runs on "
            "another machine or in another container; use a workspace that the daemon can see"
        )
    if error.status == 404 and "No such image" in message:
        return f"the image {name} is gone from this host; build or pull it again"
    return f"Docker could not start a sandbox: {message}"
