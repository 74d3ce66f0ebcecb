"""The proxy that drops responses closes late connections."""

import gc
import socket
import warnings
from pathlib import Path

import pytest
from silent_daemon import SilentDaemon


@pytest.mark.slow
@pytest.mark.parametrize("number", range(5))
def test_late_connections_are_closed(tmp_path: Path, number: int) -> None:
    with socket.socket(socket.AF_UNIX) as upstream:
        upstream.bind(str(tmp_path / "upstream"))
        upstream.listen(64)
        with warnings.catch_warnings(), SilentDaemon(tmp_path / "silent", str(tmp_path / "upstream")) as silent:
            warnings.simplefilter("error", ResourceWarning)
            asking = [socket.socket(socket.AF_UNIX) for _ in range(3)]
            for each in asking:
                each.connect(silent.path)
    for each in asking:
        each.close()
    # A socket that was not closed is an unraisable exception, which pytest reports as a failure.
    gc.collect()
