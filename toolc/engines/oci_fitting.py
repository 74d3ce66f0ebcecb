"""What one kind of sandbox of the oci engine is made of: its root, and what stands in it beside the image."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolc.engines import oci_rootfs
from toolc.engines.base import Sandbox
from toolc.engines.oci_rootfs import Interpreter
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile

if TYPE_CHECKING:
    from toolc.engines.equipment import Root
    from toolc.engines.oci_images import Unpacked


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """``image`` None is the host's own programs; ``command`` starts the guest's Python (see ``on_host``).

    ``binds`` are host folders (source, target) that are bound read-only.
    """

    image: Unpacked | None = None
    command: tuple[str, ...] = ()
    binds: tuple[tuple[str, str], ...] = ()

    @property
    def search_path(self) -> str | None:
        """The image's own ``PATH``, by which its Python is found."""
        return self.image.search_path if self.image else None

    @property
    def volumes(self) -> tuple[str, ...]:
        """What the image wants to be writable."""
        return self.image.volumes if self.image else ()

    def on_host(self, python: Interpreter) -> Fitting:
        """The same with the host's own programs in it, and its Python to start the guest."""
        programs = tuple((path, path) for path in oci_rootfs.binds(python))
        return Fitting(command=(python.path,), binds=(*programs, *self.binds))


HOST = Fitting()
"""The host's own programs, and nothing beside them."""


def fit(profile: Profile, start: Callable[[Fitting, Sequence[str]], Sandbox]) -> Fitting:
    """What a sandbox of ``profile`` is made of, made where it is not there yet. Raises ``InfrastructureError``.

    ``start`` starts a small sandbox, to find out about an image.
    """
    if profile.image is None and profile.build is None and not profile.requirements:
        return HOST
    from toolc.engines.equipment import Root, equip
    from toolc.engines.guest_python import OWN  # most calls need none
    from toolc.engines.oci_images import obtain

    def host() -> Root:
        return Root(_host_key(), lambda arguments: start(HOST, arguments))

    image = obtain(profile)
    if image is None:
        return Fitting(binds=equip(host(), host, profile.requirements).binds)
    bare = Fitting(image=image, command=OWN)
    root = Root(image.digest, lambda arguments: start(bare, arguments))
    equipment = equip(root, host, profile.requirements)
    return Fitting(image=image, command=equipment.command, binds=equipment.binds)


def _host_key() -> str:
    """Tells the host's Python from another, as after an update of it."""
    python = oci_rootfs.interpreter()
    if python is None:
        raise InfrastructureError("the oci engine needs Python 3.9 or later in /usr")
    found = Path(python.path).stat()
    words = f"{python.path} {found.st_size} {found.st_mtime_ns}"
    return "host-" + hashlib.sha256(words.encode()).hexdigest()[:32]
