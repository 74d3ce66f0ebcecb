"""Parsing and comparing versions of projects and of packages."""

from itertools import pairwise

import pytest

from toolc.doctor.advisories import Version, fix_status, parse


def version(text: str) -> Version:
    found = parse(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "numbers", "packaged"),
    [
        ("1.1.5", (1, 1, 5), False), ("v2.0", (2, 0, 0), False), ("1.4.0-rc.3", (1, 4, 0), False),
        ("1.1.5+ds1-1+deb12u1", (1, 1, 5), True), ("1.6.20~ds1-1+deb12u3", (1, 6, 20), True),
        ("20.10.24+dfsg1", (20, 10, 24), True), ("27.5.1-0ubuntu3~22.04.2", (27, 5, 1), True),
        ("6.18.44", (6, 18, 44), False), ("6.1.0-18-amd64", (6, 1, 0), True),
        ("5.14.0-687.23.2.el9_8.x86_64", (5, 14, 0), True), ("release-20240212.0", (20240212, 0, 0), False),
        ("0.0~20221219.0", (20221219, 0, 0), True),
    ],
)  # fmt: skip
def test_valid_versions_are_parsed(text: str, numbers: tuple[int, ...], packaged: bool) -> None:
    found = version(text)
    assert (found.numbers, found.is_packaged) == (numbers, packaged)


@pytest.mark.parametrize("text", ["", "unknown", "a1.2"])
def test_invalid_versions_are_rejected(text: str) -> None:
    assert parse(text) is None


def test_versions_are_sorted_by_release() -> None:
    order = ["1.0.0-rc9", "1.0.0-rc95", "1.0.0", "1.2.0-beta1", "1.2.0-rc.1", "1.2.0", "1.2.8", "1.10.0"]
    assert all(version(first) < version(then) for first, then in pairwise(order))


@pytest.mark.parametrize(
    ("found", "every_branch", "expected"),
    [
        ("1.0.0-rc1", True, "fixed"),  # before it had the flaw
        ("1.0.0", True, "affected"),  # a branch that was never fixed
        ("1.0.0", False, "unknown"),  # or perhaps it was
        ("1.2.7", True, "affected"),
        ("1.2.8", True, "fixed"),
        ("1.2.9", True, "fixed"),
        ("1.3.2", False, "affected"),
        ("1.3.3", True, "fixed"),
        ("1.4.0-rc.2", True, "affected"),
        ("1.4.0-rc.3", True, "fixed"),
        ("1.5.0", True, "fixed"),
        ("1.2.7+ds1", True, "affected"),  # what a packager added is not in the number
    ],
)
def test_the_fix_status_depends_on_the_branch(found: str, every_branch: bool, expected: str) -> None:
    fixed = [version(each) for each in ("1.2.8", "1.3.3", "1.4.0-rc.3")]
    assert fix_status(version(found), version("1.0.0-rc3"), fixed, every_branch=every_branch) == expected
