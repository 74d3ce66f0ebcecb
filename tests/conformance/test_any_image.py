"""The cases in an image with only busybox, and in one with a single static program."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from conformance_batch import run_batch
from conformance_case import Case, mismatches
from conformance_suite import cases_of
from engines.configurations import available
from engines.image_cases import archive, busybox, in_docker, needs_busybox, one_program

from toolc.sandbox.images import unpacked

pytestmark = [needs_busybox, pytest.mark.timeout(600)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyImage:
    """An image, the cases that run in it, and the missing parts that some cases need, by name."""

    name: str
    layer: Callable[[], bytes]
    cases: tuple[Case, ...]
    lacks: Mapping[str, str]


IMAGES: Final = (
    AnyImage(
        name=f"toolc-test/busybox-conformance:{os.getpid()}",
        layer=busybox,
        cases=tuple(cases_of("Programs", "Output", "Python tools").values()),
        lacks={
            "a file that is not executable ends a script with 126": "/etc/passwd",
            "a folder is not a program": "/usr",
            "a text file is not a program": "/etc/passwd",
            "text in the locale's encoding is UTF-8": "the program locale",
            "a file that cannot be written is an error of kind denied or file": "/usr",
            "no signal except SIGXFSZ is blocked or ignored": "a shell that leaves SIGQUIT alone",
        },
    ),
    AnyImage(
        name=f"toolc-test/one-conformance:{os.getpid()}",
        layer=one_program,
        cases=tuple(cases_of("Python tools").values()),
        lacks={
            "a file that cannot be written is an error of kind denied or file": "/usr",
            "a function can start programs": "/bin/sh",
        },
    ),
)


@pytest.fixture(params=IMAGES, ids=["busybox", "one static program"])
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyImage]:
    """Yield an image that is loaded into the daemon and unpacked."""
    found: AnyImage = request.param
    file = archive(tmp_path / "image.tar", found.name, found.layer())
    unpacked.import_archive(found.name, file)
    with in_docker(file, found.name):
        yield found


@pytest.mark.integrations
@pytest.mark.parametrize("configuration", ["docker", "oci root"])
def test_cases_are_as_expected(configuration: str, image: AnyImage) -> None:
    chosen = available(configuration)
    found = chosen.run(lambda engine: {**run_batch(engine, image.cases, {"image": image.name})})
    assert isinstance(found, dict)
    wrong: dict[str, list[str]] = {}
    for case in image.cases:
        envelope = found[case.name]
        assert isinstance(envelope, dict)
        if lines := mismatches(envelope, {**case.expected(configuration), "survivors": []}):
            wrong[case.name] = lines
    unexpected = {name: lines for name, lines in wrong.items() if name not in image.lacks}
    assert not unexpected
    assert set(wrong) == set(image.lacks), "remove the cases that work from ``lacks``"
