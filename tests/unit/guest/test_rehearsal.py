"""What an idle sandbox does beforehand is what a call will do, and leaves nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from toolc.guest.frames import CLOSE, FIRST_CONNECTION, FrameReader
from toolc.guest.warmup import forward_request, process_response


def test_the_worker_reads_a_response_to_its_answer() -> None:
    answer = json.loads(process_response())
    assert (answer["content"], answer["structured"]) == ([{"type": "text", "text": '{"a":1}'}], [{"a": 1}])
    assert answer["details"]["status"] == 200


def test_the_supervisor_passes_on_to_the_end() -> None:
    assert [*FrameReader().feed(forward_request())] == [(CLOSE, FIRST_CONNECTION, b"{}")]


@pytest.mark.parametrize("half", [process_response, forward_request])
def test_no_descriptor_is_left_open(half: Callable[[], bytes]) -> None:
    half()
    before = {*Path("/proc/self/fd").iterdir()}
    half()
    assert {*Path("/proc/self/fd").iterdir()} <= before
