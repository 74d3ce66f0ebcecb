"""The runtime folder of one engine."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError
from toolc.model.plan import LoopbackProxy, Profile
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.images.metadata import Unpacked
from toolc.sandbox.oci.bundles import BundleDirectory
from toolc.sandbox.oci.root import RootSpec
from toolc.sandbox.oci.user_namespace import sandbox_user


def profile(*names: str) -> Profile:
    return Profile(loopback=LoopbackProxy(hosts=tuple(("127.0.1.1", each) for each in names)))


def test_sandboxes_with_the_same_hosts_share_their_file(tmp_path: Path) -> None:
    (tmp_path / "roots").mkdir()
    directory = BundleDirectory(owner=Owner.current(), directory=tmp_path, controllers=frozenset())
    # As for two transactions, each of which has a bundle of its own.
    first = directory._with_hosts(profile("one.example"), RootSpec())
    second = directory._with_hosts(replace(profile("one.example"), image="other"), RootSpec())
    assert first.binds == second.binds
    other = directory._with_hosts(profile("two.example"), RootSpec())
    assert [Path(source).read_text(encoding="utf-8").split()[-2:] for source, _ in (*first.binds, *other.binds)] == [
        ["127.0.1.1", "one.example"],
        ["127.0.1.1", "two.example"],
    ]
    assert len([*(tmp_path / "roots").iterdir()]) == 2
    assert directory._with_hosts(Profile(), RootSpec()).binds == ()


def test_an_image_that_the_setup_user_cannot_enter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (tmp_path / "closed").mkdir(mode=0o700)
    directory = BundleDirectory(owner=Owner.current(), directory=tmp_path, controllers=frozenset())
    image = Unpacked("base", "sha256:abc", tmp_path / "closed/root", None, ())
    user = sandbox_user(None, euid=0, egid=0)
    with pytest.raises(InfrastructureError, match=r"run chmod o\+x .*closed, or set TOOLC_STORE"):
        directory.new_sandbox(Profile(), user, (), "runc", RootSpec(image=image))
