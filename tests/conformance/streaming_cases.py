"""Events during a call: output, progress reports, and the values that a function yields."""

from typing import Final

from conformance_case import OK, Case, command, limits, python, says, shell

CASES: Final = (
    Case(
        "both streams are sent as they arrive", shell("echo out; echo err >&2"),
        {**says("out\n"), "stderr": "err\n", "streamed": {"stdout": "out\n", "stderr": "err\n"}},
    ),
    Case(
        "no character is split between events",
        shell(r"for i in 1 2 3; do printf '\303'; sleep 0.05; printf '\274'; sleep 0.05; done; printf '\303'"),
        {**says("üüü\ufffd"), "streamed": {"stdout": "üüü\ufffd"}},
    ),
    Case(
        "at most the output limit of a stream is sent", shell("head -c 1000000 /dev/zero | tr '\\0' x"),
        {**OK, "truncated": True, "streamed": {"stdout": "x" * 1024}}, sandbox=limits(output="1KiB"),
    ),
    Case(
        "progress lines are reports, not output",
        shell(
            "echo before >&2; sleep 0.1; echo '::progress 40 almost' >&2; printf '::progress - who' >&2\n"
            "sleep 0.1; echo ' knows' >&2; sleep 0.1; echo '::progress soon' >&2; printf '::progress 100%%' >&2",
            progress=True,
        ),
        {
            **OK, "stderr": "before\n::progress soon\n", "progress": [[40, "almost"], [None, "who knows"], [100, ""]],
            "streamed": {"stderr": "before\n::progress soon\n"},
        },
    ),
    Case(
        "without progress in the spec these lines are output", command("sh", "-c", "echo '::progress 40 almost' >&2"),
        {**OK, "stderr": "::progress 40 almost\n", "progress": []},
    ),
    Case(
        "text that a generator yields is sent and is the result",
        python("def run():\n    yield 'öne '\n    yield 50, 'half'\n    yield 'two'"),
        {**says("öne two"), "progress": [[50, "half"]], "streamed": {"content": "öne two"}},
    ),
    Case(
        "text that a generator yields is only sent if it returns a result",
        python("def run():\n    yield 'working'\n    return {'n': 1}"),
        {**OK, "structured": {"n": 1}, "streamed": {"content": "working"}},
    ),
    Case(
        "an image that a generator yields is sent in its position",
        python("def run():\n    yield 'a'\n    yield b'GIF89a'\n    yield 'b'"),
        {**OK, "streamed": {"content": "a<Image>b"}},
    ),
    Case(
        "an async generator yields too",
        python("import asyncio\nasync def run():\n    yield 'a'\n    await asyncio.sleep(0.01)\n    yield 'b'"),
        {**says("ab"), "streamed": {"content": "ab"}},
    ),
    Case(
        "events before a cancellation are kept", shell("echo begun; sleep 1000"),
        {"error": "cancelled", "outcome": "cancelled", "streamed": {"stdout": "begun\n"}, "survivors": []},
        cancel_at="begun",
    ),
)  # fmt: skip
