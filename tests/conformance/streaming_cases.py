"""What is told while a call runs: output, progress, and what a function yields."""

from __future__ import annotations

from typing import Final

from conformance_case import OK, Case, command, limits, python, says, shell

CASES: Final = (
    Case(
        name="both streams are told as they come",
        backend=shell("echo out; echo err >&2"),
        expect={**says("out\n"), "stderr": "err\n", "streamed": {"stdout": "out\n", "stderr": "err\n"}},
    ),
    Case(
        name="no character is torn in what is told",
        backend=shell(
            r"for i in 1 2 3; do printf '\303'; sleep 0.05; printf '\274'; sleep 0.05; done; printf '\303'"
        ),
        expect={**says("üüü\ufffd"), "streamed": {"stdout": "üüü\ufffd"}},
    ),
    Case(
        name="no more of a stream is told than the output limit",
        backend=shell("head -c 1000000 /dev/zero | tr '\\0' x"),
        sandbox=limits(output="1KiB"),
        expect={**OK, "truncated": True, "streamed": {"stdout": "x" * 1024}},
    ),
    Case(
        name="lines that report progress are reports and no output",
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
        name="text that a generator yields is told and is the result",
        backend=python("def run():\n    yield 'öne '\n    yield 50, 'half'\n    yield 'two'"),
        expect={**says("öne two"), "progress": [[50, "half"]], "streamed": {"content": "öne two"}},
    ),
    Case(
        name="text that a generator yields is only told where it returns a result",
        backend=python("def run():\n    yield 'working'\n    return {'n': 1}"),
        expect={**OK, "structured": {"n": 1}, "streamed": {"content": "working"}},
    ),
    Case(
        name="a picture that a generator yields is told where it stands",
        backend=python("def run():\n    yield 'a'\n    yield b'GIF89a'\n    yield 'b'"),
        expect={**OK, "streamed": {"content": "a<Image>b"}},
    ),
    Case(
        name="an async generator yields too",
        backend=python(
            "import asyncio\nasync def run():\n    yield 'a'\n    await asyncio.sleep(0.01)\n    yield 'b'"
        ),
        expect={**says("ab"), "streamed": {"content": "ab"}},
    ),
    Case(
        name="what was told before a cancellation was told",
        backend=shell("echo begun; sleep 1000"),
        cancel_at="begun",
        expect={"error": "cancelled", "outcome": "cancelled", "streamed": {"stdout": "begun\n"}, "survivors": []},
    ),
)
