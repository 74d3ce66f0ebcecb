"""Unpacked images without a name can be removed, unless a call uses them."""

from contextlib import closing
from pathlib import Path

import pytest
from engines.image_cases import archive, busybox, needs_busybox
from engines.oci_cases import needs_oci, own_store
from engines.shared_base import share_base

from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.host import store
from toolc.sandbox.images import stored, unpacked
from toolc.sandbox.images.metadata import Unpacked
from toolc.sandbox.images.stored import base_tag
from toolc.sandbox.oci.engine import OciEngine

__all__ = ["own_store"]

pytestmark = pytest.mark.usefixtures("own_store")


def take(tmp_path: Path, name: str, comment: str, layer: bytes = b"") -> Unpacked:
    return unpacked.import_archive(name, archive(tmp_path / "image.tar", name, layer or bytes(1024), comment))


def test_a_replaced_image_is_stale_and_can_be_removed(tmp_path: Path) -> None:
    old, new = take(tmp_path, "own/tool:1", "old"), take(tmp_path, "own/tool:1", "new")
    take(tmp_path, "again:1", "new")

    named, stale = stored.stored_images()
    assert (named.digest, named.names, named.folder) == (new.digest, ("again:1", "own/tool:1"), new.root.parent)
    assert (stale.digest, stale.is_stale) == (old.digest, True)
    assert 0 < named.size_bytes() < 10_000

    stored.remove_image(stale)
    stored.remove_image(stale)
    assert [each.digest for each in stored.stored_images()] == [new.digest]
    assert not old.root.exists()
    assert list((store.directory() / "scratch").iterdir()) == []


def test_the_base_of_another_release_is_stale_unless_this_release_has_the_same(tmp_path: Path) -> None:
    take(tmp_path, "toolc/base:0.0.1", "old")
    take(tmp_path, base_tag(), "new")
    take(tmp_path, "toolc/base:0.0.2", "new")
    assert [(each.names, each.is_stale) for each in stored.stored_images()] == [
        (("toolc/base:0.0.2", base_tag()), False),
        (("toolc/base:0.0.1",), True),
    ]


def test_nothing_is_unpacked_in_a_new_store() -> None:
    assert stored.stored_images() == ()


@needs_oci
@needs_busybox
def test_an_image_in_use_is_kept(tmp_path: Path) -> None:
    share_base(store.directory())
    take(tmp_path, "mine:1", "old", busybox())
    with closing(OciEngine()) as engine:
        engine.start(Profile(image="mine:1"), BOOTSTRAP_ARGUMENTS).close()
        with closing(engine.start(Profile(image="mine:1"), BOOTSTRAP_ARGUMENTS)):
            take(tmp_path, "mine:1", "new", busybox())
            (stale,) = [each for each in stored.stored_images() if each.is_stale]
            with pytest.raises(InfrastructureError, match=r"^a call of process \d+ uses it; try again later$"):
                stored.remove_image(stale)
            assert stale.folder.is_dir()
        stored.remove_image(stale)
    assert not stale.folder.exists()
