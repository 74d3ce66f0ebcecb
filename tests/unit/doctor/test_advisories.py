"""Matching advisories with components."""

import re

import pytest

from toolc.doctor.advisories import Advisory, Component, load, match_advisories, parse

FLAW = Advisory(
    id="CVE-2024-21626", component="runc", since="1.0.0-rc93", fixed=("1.1.12",), allows="reaching files of the host",
    exposed="no", because="toolc sets the working directory", remedy="Update runc.",
)  # fmt: skip


def concern(version: str, changelog: str = "", *, package: str = "runc", advisory: Advisory = FLAW) -> tuple[str, str]:
    component = Component(name=advisory.component, version=version, package=package)
    found = [(each.status, each.note) for each in match_advisories([component], [advisory], lambda _: changelog)]
    return found[0] if found else ("none", "")


def test_a_release_before_the_fix_is_open() -> None:
    assert concern("1.1.11") == ("open", "")


@pytest.mark.parametrize("version", ["1.1.12", "1.2.0", "1.0.0-rc92", "not a version"])
def test_an_unaffected_release_does_not_match(version: str) -> None:
    assert concern(version) == ("none", "")


def test_a_package_with_the_fix_in_its_changelog_is_patched() -> None:
    changelog = "runc (1.1.5+ds1-1+deb12u1) bookworm-security\n  * Fix CVE-2024-21626\n"
    assert concern("1.1.5+ds1-1+deb12u1", changelog) == (
        "patched",
        "the changelog of the package runc lists it as fixed",
    )


@pytest.mark.parametrize("changelog", ["", "  * Fix CVE-2024-216260\n"])
def test_another_package_may_be_patched(changelog: str) -> None:
    assert concern("1.1.5+ds1-1+deb12u1", changelog) == (
        "maybe",
        "may be patched by your distribution, which keeps old version numbers and adds fixes",
    )


def test_the_changelog_does_not_apply_to_upstream_releases() -> None:
    assert concern("1.1.5", "CVE-2024-21626") == ("open", "")


def test_a_program_on_another_machine_has_no_changelog_here() -> None:
    assert concern("1.1.5+ds1", "CVE-2024-21626", package="")[0] == "maybe"


def test_an_unlisted_kernel_branch_is_unknown() -> None:
    kernel = Advisory(
        id="CVE-2026-43499", component="kernel", since="2.6.39", fixed=("7.0.4",), allows="root", exposed="yes",
        because="futex is needed", remedy="Update the kernel.",
    )  # fmt: skip
    assert concern("6.18.44", advisory=kernel) == (
        "maybe",
        "may be patched in this branch of the kernel, for which toolc has no record",
    )
    assert concern("7.0.3", advisory=kernel) == ("open", "")
    assert concern("7.1.0", advisory=kernel) == ("none", "")


def test_advisories_are_in_the_order_of_the_table() -> None:
    components = [Component(name="runc", version="1.1.4"), Component(name="containerd", version="1.6.0")]
    names = [each.advisory.id for each in match_advisories(components, load())]
    assert names[:3] == ["CVE-2023-25809", "CVE-2023-28642", "CVE-2024-21626"]
    assert names.index("CVE-2022-23648") > names.index("CVE-2026-41579")


@pytest.mark.parametrize("advisory", load(), ids=lambda advisory: advisory.id)
def test_the_table_is_valid(advisory: Advisory) -> None:
    assert re.fullmatch(r"CVE-20\d\d-\d{4,}", advisory.id)
    assert advisory.component in {"kernel", "docker", "docker desktop", "podman", "containerd", "runc", "gvisor"}
    versions = [parse(each) for each in (advisory.since, *advisory.fixed)]
    assert all(each is not None and not each.is_packaged for each in versions)
    fixed = [each for each in versions[1:] if each]
    assert fixed == sorted(fixed)
    assert len({each.branch for each in fixed}) == len(fixed)
    assert advisory.exposed in {"no", "partly", "yes"}
    assert advisory.remedy.endswith((".", "containerd"))
    assert not advisory.because.endswith(".")
    assert not advisory.allows.endswith(".")


def test_no_advisory_is_listed_twice() -> None:
    names = [advisory.id for advisory in load()]
    assert len(names) == len(set(names)) >= 30
