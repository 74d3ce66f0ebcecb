"""What comes out: text in any encoding, bytes, JSON, pictures, too much of it, and streams held or closed."""

from __future__ import annotations

import re
from typing import Final

from conformance_case import OK, Case, command, fails, limits, says, shell

_PNG: Final = r"printf '\211PNG\r\n\032\n\000\000\000\rIHDR\000\000\000\001\000\000\000\001\b\006\000\000\000'"
_ENDS: Final = "\0" * 512

CASES: Final = (
    Case(
        name="text in UTF-8 comes as it is",
        backend=shell("printf 'grüße 東京 👩‍🚀 \\360\\220\\215\\210'"),
        expect=says("grüße 東京 👩‍🚀 𐍈"),
    ),
    Case(
        name="bytes that are not UTF-8 are replaced and the rest is kept",
        backend=shell(r"printf 'a\377b\303(c\355\240\200d'"),
        expect=says("a\ufffdb\ufffd(c\ufffd\ufffd\ufffdd"),
    ),
    Case(
        name="NUL and control characters are kept for the model",
        backend=shell(r"printf 'a\000b\033[31mred\007\177'"),
        expect=says("a\0b\x1b[31mred\x07\x7f"),
    ),
    Case(name="line ends are kept as they are", backend=shell(r"printf 'a\r\nb\rc\n\n'"), expect=says("a\r\nb\rc\n\n")),
    Case(
        name="stderr that is not UTF-8 is replaced too",
        backend=shell(r"printf 'a\377' >&2"),
        expect={**OK, "stderr": "a\ufffd"},
    ),
    Case(
        name="output of just the limit is whole",
        backend=shell("head -c 65536 /dev/zero | tr '\\0' x"),
        sandbox=limits(output="64KiB"),
        expect={**OK, "truncated": False, "text": "x" * 65_536},
    ),
    Case(
        name="of longer output the head and the tail are kept",
        backend=shell("printf '%1000s' head; printf '%1000s' tail"),
        sandbox=limits(output="1KiB"),
        expect={**OK, "truncated": True, "text": " " * 512 + "\n[976 bytes cut]\n" + " " * 508 + "tail"},
    ),
    Case(
        name="long output is read to its end",
        backend=shell("head -c 20000000 /dev/zero; echo the end >&2"),
        sandbox=limits(output="1KiB"),
        expect={**OK, "truncated": True, "text": f"{_ENDS}\n[19998976 bytes cut]\n{_ENDS}", "stderr": "the end\n"},
    ),
    Case(
        name="both streams may be long at once",
        backend=shell("head -c 8000000 /dev/zero >&2 & head -c 8000000 /dev/zero; wait"),
        sandbox=limits(output="1KiB"),
        expect={
            **OK,
            "text": f"{_ENDS}\n[7998976 bytes cut]\n{_ENDS}",
            "stderr": f"{_ENDS}\n[7998976 bytes cut]\n{_ENDS}",
        },
    ),
    Case(
        name="one line may be ten megabytes long",
        backend=shell("head -c 10000000 /dev/zero | tr '\\0' y; echo z"),
        sandbox=limits(output="1KiB"),
        expect={**OK, "text": "y" * 512 + "\n[9998978 bytes cut]\n" + "y" * 510 + "z\n"},
    ),
    Case(
        name="many small writes arrive whole and in order",
        backend=shell("i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done"),
        expect=says("".join(f"{i}\n" for i in range(3000))),
    ),
    Case(
        name="output is one JSON value where the spec says so",
        backend=shell("""printf '{"a": [1, 2.5, null, "\\303\\274"]}\\n'"""),
        result={"format": "json"},
        expect={**OK, "structured": {"a": [1, 2.5, None, "ü"]}},
    ),
    Case(
        name="output that should be JSON and is not is an error of the tool",
        backend=command("echo", "{broken"),
        result={"format": "json"},
        expect=fails("serialization", re.compile(r"the command's output is not JSON: line 1 column 2: .*")),
    ),
    Case(
        name="JSON that is too long is an error and never half a value",
        backend=shell("echo '[1,'; yes 2, | head -n 1000; echo '3]'"),
        result={"format": "json"},
        sandbox=limits(output="1KiB"),
        expect=fails("output_limit", re.compile(r"the command wrote 3007 bytes, more than its output limit, .*")),
    ),
    Case(
        name="an image is recognized by its first bytes",
        backend=shell(_PNG),
        result={"format": "image"},
        expect={**OK, "text": "", "images": ["image/png 5e2fb2205b8b"]},
    ),
    Case(
        name="output that should be an image and is not is an error",
        backend=command("echo", "no picture"),
        result={"format": "image"},
        expect=fails("serialization", "the command's output is not a PNG, JPEG, GIF or WebP image"),
    ),
    Case(
        name="output that is not wanted is left out",
        backend=command("echo", "unwanted"),
        result={"format": "none"},
        expect=says(""),
    ),
    Case(
        name="a tool may close its stdout",
        backend=shell("echo before; exec >&-; sleep 0.1; true"),
        expect=says("before\n"),
    ),
    Case(
        name="a tool may close all its descriptors",
        backend=shell("echo before; exec 0<&- 1>&- 2>&-; sleep 0.1; exit 5"),
        expect=fails("exit_status", "the command ended with exit status 5", text="before\n[exit status 5]"),
    ),
    Case(
        name="a child that holds stdout open does not hold the call",
        backend=shell("sleep 1000 & echo done"),
        sandbox=limits(timeout="100s"),
        expect=says("done\n"),
    ),
    Case(
        name="what was written before the end is not lost",
        backend=shell("head -c 200000 /dev/zero | tr '\\0' x; printf end; kill -9 $$"),
        sandbox=limits(output="300KiB"),
        expect=fails(
            "exit_status", "the command was killed by SIGKILL", text="x" * 200_000 + "end\n[killed by SIGKILL]"
        ),
    ),
    Case(
        name="/dev/stdout and /dev/stderr can be written to",
        backend=shell("echo out >/dev/stdout; echo err >/dev/stderr; echo fd >/dev/fd/1"),
        expect={**OK, "text": "out\nfd\n", "stderr": "err\n"},
    ),
    Case(
        name="output is sent while the tool runs, also for a call that never ends",
        backend=shell("echo first; echo error >&2; sleep 1000"),
        sandbox=limits(timeout="100s"),
        hurry=1,
        expect={"outcome": "timed_out", "error": "timeout", "streamed": {"stdout": "first\n", "stderr": "error\n"}},
    ),
)
