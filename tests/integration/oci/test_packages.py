"""Packages of Python tools that were not used for a month can be removed."""

import os
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from engines.oci_cases import needs_oci, own_store
from engines.shared_base import share_base

from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.host import store
from toolc.sandbox.oci.engine import OciEngine
from toolc.sandbox.python import packages
from toolc.sandbox.python.interpreter import PythonInfo

__all__ = ["own_store"]

pytestmark = pytest.mark.usefixtures("own_store")

LONG_AGO = time.time() - (packages.UNUSED_DAYS + 1) * 24 * 3600


def fill(folder: Path) -> None:
    (folder / "greets-1.0.dist-info").mkdir()
    (folder / "greets.py").write_text("")


def only() -> packages.Packages:
    (found,) = packages.installed_packages()
    return found


def old(key: str = "aa11") -> packages.Packages:
    os.utime(packages.make(key, fill), (LONG_AGO, LONG_AGO))
    return only()


def test_nothing_is_installed_in_a_new_store() -> None:
    assert packages.installed_packages() == ()


def test_packages_are_unused_after_a_month_without_a_call() -> None:
    folder = packages.make("aa11", fill)
    assert (only().key, only().names, only().folder) == ("aa11", ("greets-1.0",), folder)
    assert not only().is_unused
    assert old().is_unused
    packages.make("aa11", fill)
    assert not only().is_unused


def test_unused_packages_can_be_removed_twice() -> None:
    unused = old()
    packages.remove_packages(unused)
    packages.remove_packages(unused)
    assert packages.installed_packages() == ()
    assert list((store.directory() / "scratch").iterdir()) == []


def test_packages_that_a_call_has_just_used_are_kept() -> None:
    unused = old()
    packages.make("aa11", fill)
    with pytest.raises(InfrastructureError, match=r"^a call has just started to use it; try again later$"):
        packages.remove_packages(unused)
    assert only().folder.is_dir()


def test_concurrent_calls_and_removals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A removed folder is installed again, and is never visible incomplete."""
    monkeypatch.setattr(packages, "_is_old", lambda _: True)
    stop = threading.Event()

    def prune() -> None:
        while not stop.is_set():
            for each in packages.installed_packages():
                packages.remove_packages(each)

    thread = threading.Thread(target=prune)
    thread.start()
    try:
        for _ in range(30):
            assert packages.make("aa11", fill).name == "aa11"
    finally:
        stop.set()
        thread.join()
    packages.make("aa11", fill)
    assert only().names == ("greets-1.0",)


@needs_oci
def test_packages_in_use_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def install(requirements: Path, folder: Path, python: PythonInfo) -> None:
        fill(folder)
        (folder / packages._LIST).write_text("greets==1.0\n", encoding="utf-8")

    monkeypatch.setattr(packages, "_install", install)
    share_base(store.directory())
    with closing(OciEngine()) as engine:
        with closing(engine.start(Profile(requirements=("greets==1.0",)), BOOTSTRAP_ARGUMENTS)):
            os.utime(only().folder, (LONG_AGO, LONG_AGO))
            with pytest.raises(InfrastructureError, match=r"^a call of process \d+ uses it; try again later$"):
                packages.remove_packages(only())
            assert only().is_unused
        packages.remove_packages(only())
    assert packages.installed_packages() == ()
