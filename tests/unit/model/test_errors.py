"""Errors that mean something else than what they say: no more files can be opened."""

import errno
import os
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError, raise_shortage
from toolc.sandbox.host import cgroups


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_lack_of_descriptors_is_a_failure_of_the_infrastructure(number: int) -> None:
    for error in (OSError(number, os.strerror(number)), ImportError(f"x.so: {os.strerror(number)}")):
        with pytest.raises(InfrastructureError, match=r"too many open files (in|on) this .*; .* raise the limit"):
            raise_shortage(error)


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "no"), ImportError("no"), OSError("no"), KeyError()])
def test_other_errors_are_not_replaced(error: Exception) -> None:
    raise_shortage(error)


def test_a_lack_of_descriptors_does_not_look_like_missing_control_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise sandboxes would be started without limits."""

    def fail(*_: object, **__: object) -> str:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(Path, "read_text", fail)
    with pytest.raises(InfrastructureError):
        cgroups.unenforceable()
