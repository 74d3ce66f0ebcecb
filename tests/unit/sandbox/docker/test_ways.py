"""The ways to start a container: their order, and which ones are skipped."""

import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.docker.api_client import ApiError, Client
from toolc.sandbox.docker.daemon import Daemon
from toolc.sandbox.docker.ways import WAYS, Way, Ways, is_about_files
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.host.start_folder import StartFolderError

BOTH, FILES, SOCKET, NEITHER = WAYS
LOCAL = Daemon(client=Client("/run/docker.sock"), kernel=os.uname().release)
REFUSED = ApiError('error mounting "/a" to rootfs at "/etc/hosts"', 400)
OTHER = ApiError("no such image", 404)
SILENT = ApiError("no answer")
CLOSED = InfrastructureError("the engine was closed")
FULL = StartFolderError("cannot write")


def starting(outcomes: dict[Way, Exception]) -> tuple[list[Way], Callable[[Way], Way]]:
    """Return the tried ways, and a start with these outcomes; it works with every other way."""
    tried: list[Way] = []

    def start(way: Way) -> Way:
        tried.append(way)
        if way in outcomes:
            raise outcomes[way]
        return way

    return tried, start


@pytest.mark.parametrize(
    ("outcomes", "tried", "next_ones"),
    [
        pytest.param({}, [BOTH], [BOTH], id="the first one works"),
        pytest.param({BOTH: OTHER}, [BOTH, FILES], [FILES], id="no socket can be mounted"),
        pytest.param({BOTH: REFUSED, FILES: REFUSED}, [BOTH, FILES, SOCKET], [SOCKET], id="no files"),
        pytest.param(dict.fromkeys(WAYS[:3], REFUSED), [*WAYS], [NEITHER], id="neither"),
        pytest.param({BOTH: FULL}, [BOTH, FILES], [BOTH], id="no socket can be created now"),
        pytest.param({BOTH: FULL, FILES: FULL, SOCKET: FULL}, [*WAYS], [BOTH], id="the disk is full now"),
    ],
)
def test_a_way_that_fails_is_followed_by_the_next(
    outcomes: dict[Way, Exception], tried: list[Way], next_ones: list[Way]
) -> None:
    ways = Ways()
    found, start = starting(outcomes)
    assert ways.start("image", WAYS, start) is tried[-1]
    assert found == tried
    # A way that the daemon has refused is not tried again with this image.
    found, start = starting({})
    ways.start("image", WAYS, start)
    assert found == next_ones
    assert ways.start("other", WAYS, start) is BOTH


@pytest.mark.parametrize(
    ("outcomes", "error", "tried"),
    [
        pytest.param(dict.fromkeys(WAYS, OTHER), OTHER, [BOTH, FILES], id="it is not about the way"),
        pytest.param(dict.fromkeys(WAYS, REFUSED), REFUSED, [*WAYS], id="every way fails"),
        pytest.param({BOTH: SILENT}, SILENT, [BOTH], id="the daemon does not answer"),
        pytest.param({BOTH: CLOSED}, CLOSED, [BOTH], id="another error"),
    ],
)
def test_a_start_that_fails_refuses_no_way(outcomes: dict[Way, Exception], error: Exception, tried: list[Way]) -> None:
    ways = Ways()
    found, start = starting(outcomes)
    with pytest.raises(InfrastructureError if error is CLOSED else ApiError) as raised:
        ways.start("image", WAYS, start)
    assert (raised.value, found) == (error, tried)
    assert ways.start("image", WAYS, starting({})[1]) is BOTH


def test_which_ways_fit_a_daemon() -> None:
    def fitting(profile: Profile, daemon: Daemon, arguments: tuple[str, ...] = BOOTSTRAP_ARGUMENTS) -> list[Way]:
        return [way for way in WAYS if way.fits(profile, arguments, daemon)]

    assert fitting(Profile(), LOCAL) == [*WAYS]
    assert fitting(Profile(), LOCAL, ("-c", "pass")) == [FILES, NEITHER]
    assert fitting(Profile(), replace(LOCAL, rootless=True)) == [SOCKET, NEITHER]
    others = [
        replace(LOCAL, kernel="6.1.0-of-another-machine"),
        replace(LOCAL, podman=True),
        replace(LOCAL, has_selinux=True),
        replace(LOCAL, remaps_users=True),
    ]
    assert [fitting(Profile(), each) for each in others] == [[NEITHER]] * len(others)
    assert fitting(Profile(min_isolation="gvisor"), LOCAL) == [NEITHER]


def test_only_errors_about_a_mount_of_toolcs_files_refuse_them() -> None:
    unseen = [
        f"bind source path does not exist: /run/toolc/{Owner.current().label()}/start-1/2",
        'error mounting "/run/desktop/mnt/host/wsl/1f" to rootfs at "/etc/hosts": not a directory',
        'error mounting "/run/desktop/mnt/host/wsl/2f" to rootfs at "/etc/resolv.conf": not a directory',
    ]
    others = ['error mounting "tmpfs" to rootfs at "/tmp": cannot allocate memory', "no such image: x"]
    assert [is_about_files(ApiError(each, 400)) for each in (*unseen, *others)] == [True] * 3 + [False] * 2
    assert not is_about_files(ApiError(unseen[0])), "without a response"
