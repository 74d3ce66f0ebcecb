"""Names of the content of images, by the answers of Docker's two stores and Podman."""

from typing import Final

import pytest

from toolc.model.json_schema import JsonObject, Schema
from toolc.model.lock_file import Lock, LockError
from toolc.model.plan import Plan, Profile
from toolc.model.result import Outcome
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.sandboxed.options import approve_image
from toolc.sandbox.images.metadata import approval_name, content_names
from toolc.sandbox.interface import ContentDigests, ImageUsed
from toolc.testing.fake_engine import FakeEngine

INDEX, OTHER, CONFIG, BUILT = (f"sha256:{letter * 64}" for letter in "abcd")
OF_CONTAINERD: Final = "application/vnd.oci.image.index.v1+json"

ANSWERS: Final[dict[str, tuple[JsonObject, tuple[str, ...]]]] = {
    "the classic store, pulled": (
        {"Id": CONFIG, "RepoDigests": [f"redis@{INDEX}"], "GraphDriver": {"Name": "overlay2"}},
        (f"manifest:{INDEX}", f"config:{CONFIG}"),
    ),
    "the classic store, pulled twice while other platforms changed": (
        {"Id": CONFIG, "RepoDigests": [f"redis@{OTHER}", f"mirror.example.com:5000/redis@{INDEX}"]},
        (f"manifest:{INDEX}", f"manifest:{OTHER}", f"config:{CONFIG}"),
    ),
    "the classic store, built here": ({"Id": BUILT, "RepoDigests": []}, (f"config:{BUILT}",)),
    "the classic store, built here, without a tag": ({"Id": BUILT, "RepoDigests": None}, (f"config:{BUILT}",)),
    "the containerd store, pulled": (
        {
            "Id": INDEX, "RepoDigests": [f"redis@{INDEX}"], "GraphDriver": {"Name": "overlayfs"},
            "Descriptor": {"mediaType": OF_CONTAINERD, "digest": INDEX, "size": 10},
        },
        (f"manifest:{INDEX}",),
    ),
    "the containerd store before it said descriptors": (
        {"Id": INDEX, "RepoDigests": [f"redis@{INDEX}"]}, (f"manifest:{INDEX}",),
    ),
    "the containerd store, built here, without a tag": (
        {"Id": BUILT, "RepoDigests": [], "Descriptor": {"mediaType": OF_CONTAINERD, "digest": BUILT}},
        (f"manifest:{BUILT}",),
    ),
    "Podman, pulled": (
        {"Id": CONFIG, "RepoDigests": [f"docker.io/library/redis@{INDEX}"]},
        (f"manifest:{INDEX}", f"config:{CONFIG}"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "names"), ANSWERS.values(), ids=ANSWERS)
def test_content_names(answer: JsonObject, names: tuple[str, ...]) -> None:
    assert content_names(answer) == names


def test_the_approval_name_is_the_same_in_both_stores() -> None:
    classic, containerd = (
        content_names(ANSWERS[each][0]) for each in ("the classic store, pulled", "the containerd store, pulled")
    )
    assert approval_name(classic, "redis:7") == approval_name(containerd, "redis:7") == f"manifest:{INDEX}"
    twice = content_names(ANSWERS["the classic store, pulled twice while other platforms changed"][0])
    assert approval_name(twice, f"redis@{OTHER}") == f"manifest:{OTHER}"
    assert approval_name(content_names({"Id": BUILT}), "mine:1") == f"config:{BUILT}"


def _never(plan: Plan) -> Outcome:
    raise AssertionError(f"nothing is called here: {plan}")


class Knowing(FakeEngine):
    """An engine with one image."""

    def __init__(self, answer: JsonObject) -> None:
        super().__init__(_never)
        self._used = ImageUsed("redis:7", str(answer["Id"]), content_names(answer))

    def content_digests(self, profile: Profile) -> ContentDigests:
        """The image."""
        return ContentDigests(self._used)


LOOK: Final = ToolSpec(
    name="look", description="", parameters=Schema({}), backend=ShellBackend(command=Argv(elements=()))
)


def pin_error(approved: str, store: str) -> str:
    """Return why an image with this approved name is refused; empty if it is accepted."""
    digest = f"sha256:{'0' * 64}"
    text = f"# toolc.lock 1\nlook surface={digest} effect={digest} image={approved}\n"
    lock = Lock.parse(text, "toolc.lock")
    try:
        approve_image(LOOK, Profile(image="redis:7"), Knowing(ANSWERS[store][0]), lock)
    except LockError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("store", ["the classic store, pulled", "the containerd store, pulled", "Podman, pulled"])
def test_a_lock_is_valid_in_both_stores(store: str) -> None:
    assert pin_error(f"manifest:{INDEX}", store) == ""
    assert f"approved manifest:{OTHER}; review the changes" in pin_error(f"manifest:{OTHER}", store)


def test_names_that_cannot_be_compared() -> None:
    assert pin_error(f"config:{CONFIG}", "the classic store, pulled") == ""
    assert pin_error(f"config:{CONFIG}", "the containerd store, pulled") == (
        f"the image redis:7 of look is not the one that toolc.lock approves: found manifest:{INDEX}, approved "
        f"config:{CONFIG}; this engine identifies images by their manifests only, so the digests cannot be compared; "
        "push the image to a registry, pull it from there, and run: toolc lock"
    )
    assert pin_error(f"manifest:{INDEX}", "the classic store, built here").endswith(
        "an image that was built or loaded here has no manifest to compare; pull it from its registry, or run toolc "
        "lock on this machine"
    )


@pytest.mark.parametrize(("name", "exported"), [(None, "base"), ("own/base:1", "own/base:1")])
def test_a_lock_with_another_base_image_names_the_one_to_import(name: str | None, exported: str) -> None:
    lock = Lock("toolc.lock", {}, f"sha256:{OTHER[-1] * 64}")
    with pytest.raises(LockError) as caught:
        approve_image(LOOK, Profile(base_image=name), Knowing(ANSWERS["Podman, pulled"][0]), lock)
    there, here = f"export {exported} --output base.tar", f"import base.tar{f' {name}' if name else ''}"
    assert str(caught.value).endswith(
        f"there, run toolc image {there}; here, toolc image {here}; or approve the one found: "
        "toolc lock --pin-base-image"
    )


def test_a_bare_digest_is_the_engines_digest() -> None:
    assert pin_error(CONFIG, "the classic store, pulled") == ""
    assert pin_error(INDEX, "the classic store, pulled") != ""
