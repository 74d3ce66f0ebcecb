"""What is told while a call runs: output, progress, and what a function yields."""

from __future__ import annotations

from typing import Final

from conformance_case import OK, Case, command, limits, python, says, shell

CASES: Final = (
    Case(
        name="both streams are sent as they arrive",
        backend=shell("echo out; echo err >&2"),
        expect={**says("out\n"), "stderr": "err\n", "streamed": {"stdout": "out\n", "stderr": "err\n"}},
    ),
    Case(
        name="no character is split between events",
        backend=shell(r"for i in 1 2 3; do printf '\303'; sleep 0.05; printf '\274'; sleep 0.05; done; printf '\303'"),
        expect={**says("üüü\ufffd"), "streamed": {"stdout": "üüü\ufffd"}},
    ),
    Case(
        name="no more of a stream is sent than the output limit",
        backend=shell("head -c 1000000 /dev/zero | tr '\\0' x"),
        sandbox=limits(output="1KiB"),
        expect={**OK, "truncated": True, "streamed": {"stdout": "x" * 1024}},
    ),
    Case(
        name="lines that report progress are reports and not output",
        backend=shell(
            "echo before >&2; sleep 0.1; echo '::progress 40 almost' >&2; printf '::progress - who' >&2\n"
            "sleep 0.1; echo ' knows' >&2; sleep 0.1; echo '::progress soon' >&2; printf '::progress 100%%' >&2",
            progress=True,
        ),
        expect={
            **OK,
            "stderr": "before\n::progress soon\n",
            "progress": [[40, "almost"], [None, "who knows"], [100, ""]],
            "streamed": {"stderr": "before\n::progress soon\n"},
        },
    ),
    Case(
        name="without progress in the spec such lines are output",
        backend=command("sh", "-c", "echo '::progress 40 almost' >&2"),
        expect={**OK, "stderr": "::progress 40 almost\n", "progress": []},
    ),
    Case(
        name="text that a generator yields is sent and is the result",
        backend=python("def run():\n    yield 'öne '\n    yield 50, 'half'\n    yield 'two'"),
        expect={**says("öne two"), "progress": [[50, "half"]], "streamed": {"content": "öne two"}},
    ),
    Case(
        name="text that a generator yields is only sent if it returns a result",
        backend=python("def run():\n    yield 'working'\n    return {'n': 1}"),
        expect={**OK, "structured": {"n": 1}, "streamed": {"content": "working"}},
    ),
    Case(
        name="an image that a generator yields is sent in its position",
        backend=python("def run():\n    yield 'a'\n    yield b'GIF89a'\n    yield 'b'"),
        expect={**OK, "streamed": {"content": "a<Image>b"}},
    ),
    Case(
        name="an async generator yields too",
        backend=python("import asyncio\nasync def run():\n    yield 'a'\n    await asyncio.sleep(0.01)\n    yield 'b'"),
        expect={**says("ab"), "streamed": {"content": "ab"}},
    ),
    Case(
        name="events before a cancellation are kept",
        backend=shell("echo begun; sleep 1000"),
        cancel_at="begun",
        expect={"error": "cancelled", "outcome": "cancelled", "streamed": {"stdout": "begun\n"}, "survivors": []},
    ),
)
