"""The ``VOLUME`` instructions of an image."""

import pytest

from toolc.model.errors import InfrastructureError
from toolc.sandbox.images.metadata import volumes


@pytest.mark.parametrize("path", ["/data", "/data/", "//data", "/./data/."])
def test_paths_are_normalized(path: str) -> None:
    assert volumes({path: {}}) == ("/data",)


def test_volumes_are_sorted_without_standard_mounts() -> None:
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
def test_volumes_in_the_workspace_or_kernel_folders_are_refused(path: str) -> None:
    """Docker would create the mount point among the user's files, as root."""
    with pytest.raises(InfrastructureError, match=r"^the image declares a volume at .* cannot have; build it without"):
        volumes({path: {}})
