"""The ``VOLUME`` lines of an image: bounded memory where they may be, and refused where they may not."""

from __future__ import annotations

import pytest

from toolc.model.errors import InfrastructureError
from toolc.sandbox.images.metadata import volumes


@pytest.mark.parametrize("path", ["/data", "/data/", "//data", "/./data/."])
def test_a_volume_has_one_spelling(path: str) -> None:
    assert volumes({path: {}}) == ("/data",)


def test_volumes_are_sorted_and_what_every_sandbox_has_is_left_to_it() -> None:
    assert volumes({"/z": {}, "/a/b": {}, "/tmp/": {}, "/tool": {}, "/dev/shm": {}, "/workspace/": {}}) == (
        "/a/b",
        "/workspace",
        "/z",
    )


@pytest.mark.parametrize("declared", [None, {}, [], "x"])
def test_an_image_without_volumes(declared: object) -> None:
    assert volumes(declared) == ()


@pytest.mark.parametrize(
    "path",
    ["/", "", ".", "/workspace/sub", "//workspace/./sub/", "/data/../workspace/x", "..", "/proc", "/sys/x", "/dev"],
)  # fmt: skip
def test_no_volume_reaches_the_workspace_or_the_kernels_folders(path: str) -> None:
    """Docker would make its mount point among the user's own files, as root."""
    with pytest.raises(
        InfrastructureError, match=r"^the image declares a volume at .* cannot have; build the image without"
    ):
        volumes({path: {}})
