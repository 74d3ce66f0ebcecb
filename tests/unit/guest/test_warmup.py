"""The warm-up of an idle sandbox runs the code of a call and leaves nothing open."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from toolc.guest.frames import CLOSE, FIRST_CONNECTION, FrameReader
from toolc.guest.warmup import forward_request, process_response


def test_the_worker_processes_a_response() -> None:
    reply = json.loads(process_response())
    assert (reply["content"], reply["structured"]) == ([{"type": "text", "text": '{"a":1}'}], [{"a": 1}])
    assert reply["details"]["status"] == 200


def test_the_supervisor_forwards_a_request() -> None:
    assert [*FrameReader().feed(forward_request())] == [(CLOSE, FIRST_CONNECTION, b"{}")]


@pytest.mark.parametrize("half", [process_response, forward_request])
def test_no_descriptor_stays_open(half: Callable[[], bytes]) -> None:
    half()
    before = {*Path("/proc/self/fd").iterdir()}
    half()
    assert {*Path("/proc/self/fd").iterdir()} <= before
