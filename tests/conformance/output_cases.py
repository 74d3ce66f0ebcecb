"""Output: text in any encoding, bytes, JSON, images, limits, and streams kept open or closed."""

import re
from typing import Final

from conformance_case import OK, Case, command, fails, limits, says, shell

_PNG: Final = r"printf '\211PNG\r\n\032\n\000\000\000\rIHDR\000\000\000\001\000\000\000\001\b\006\000\000\000'"
_ENDS: Final = "\0" * 512

CASES: Final = (
    Case("UTF-8 text is unchanged", shell("printf 'grüße 東京 👩‍🚀 \\360\\220\\215\\210'"), says("grüße 東京 👩‍🚀 𐍈")),
    Case(
        "bytes that are not UTF-8 are replaced and the rest is kept",
        shell(r"printf 'a\377b\303(c\355\240\200d'"),
        says("a\ufffdb\ufffd(c\ufffd\ufffd\ufffdd"),
    ),
    Case(
        "NUL and control characters are kept for the model",
        shell(r"printf 'a\000b\033[31mred\007\177'"),
        says("a\0b\x1b[31mred\x07\x7f"),
    ),
    Case("line endings are unchanged", shell(r"printf 'a\r\nb\rc\n\n'"), says("a\r\nb\rc\n\n")),
    Case("stderr that is not UTF-8 is replaced too", shell(r"printf 'a\377' >&2"), {**OK, "stderr": "a\ufffd"}),
    Case(
        "output of exactly the limit is complete", shell("head -c 65536 /dev/zero | tr '\\0' x"),
        {**OK, "truncated": False, "text": "x" * 65_536}, sandbox=limits(output="64KiB"),
    ),
    Case(
        "longer output keeps its start and end", shell("printf '%1000s' head; printf '%1000s' tail"),
        {**OK, "truncated": True, "text": " " * 512 + "\n[976 bytes cut]\n" + " " * 508 + "tail"},
        sandbox=limits(output="1KiB"),
    ),
    Case(
        "long output is read to its end", shell("head -c 20000000 /dev/zero; echo the end >&2"),
        {**OK, "truncated": True, "text": f"{_ENDS}\n[19998976 bytes cut]\n{_ENDS}", "stderr": "the end\n"},
        sandbox=limits(output="1KiB"),
    ),
    Case(
        "both streams may be long", shell("head -c 8000000 /dev/zero >&2 & head -c 8000000 /dev/zero; wait"),
        {**OK, "text": f"{_ENDS}\n[7998976 bytes cut]\n{_ENDS}", "stderr": f"{_ENDS}\n[7998976 bytes cut]\n{_ENDS}"},
        sandbox=limits(output="1KiB"),
    ),
    Case(
        "one line may be ten megabytes long", shell("head -c 10000000 /dev/zero | tr '\\0' y; echo z"),
        {**OK, "text": "y" * 512 + "\n[9998978 bytes cut]\n" + "y" * 510 + "z\n"}, sandbox=limits(output="1KiB"),
    ),
    Case(
        "many small writes arrive completely and in order",
        shell("i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done"),
        says("".join(f"{i}\n" for i in range(3000))),
    ),
    Case(
        "output is one JSON value if the spec requires it",
        shell("""printf '{"a": [1, 2.5, null, "\\303\\274"]}\\n'"""),
        {**OK, "structured": {"a": [1, 2.5, None, "ü"]}},
        result={"format": "json"},
    ),
    Case(
        "output that should be JSON and is not is an error of the tool",
        command("echo", "{broken"),
        fails("serialization", re.compile(r"the command's output is not JSON: line 1 column 2: .*")),
        result={"format": "json"},
    ),
    Case(
        "JSON that is too long is an error, not a partial value",
        shell("echo '[1,'; yes 2, | head -n 1000; echo '3]'"),
        fails("output_limit", re.compile(r"the command wrote 3007 bytes, more than its output limit, .*")),
        result={"format": "json"}, sandbox=limits(output="1KiB"),
    ),
    Case(
        "an image is recognized by its first bytes", shell(_PNG),
        {**OK, "text": "", "images": ["image/png 5e2fb2205b8b"]}, result={"format": "image"},
    ),
    Case(
        "output that should be an image and is not is an error", command("echo", "no picture"),
        fails("serialization", "the command's output is not a PNG, JPEG, GIF or WebP image"),
        result={"format": "image"},
    ),
    Case("output with format none is omitted", command("echo", "unwanted"), says(""), result={"format": "none"}),
    Case("a tool may close its stdout", shell("echo before; exec >&-; sleep 0.1; true"), says("before\n")),
    Case(
        "a tool may close all its descriptors", shell("echo before; exec 0<&- 1>&- 2>&-; sleep 0.1; exit 5"),
        fails("exit_status", "the command ended with exit status 5", text="before\n[exit status 5]"),
    ),
    Case(
        "a child that keeps stdout open does not delay the result", shell("sleep 1000 & echo done"), says("done\n"),
        sandbox=limits(timeout="100s"),
    ),
    Case(
        "output before a signal is kept", shell("head -c 200000 /dev/zero | tr '\\0' x; printf end; kill -9 $$"),
        fails("exit_status", "the command was killed by SIGKILL", text="x" * 200_000 + "end\n[killed by SIGKILL]"),
        sandbox=limits(output="300KiB"),
    ),
    Case(
        "/dev/stdout and /dev/stderr can be written to",
        shell("echo out >/dev/stdout; echo err >/dev/stderr; echo fd >/dev/fd/1"),
        {**OK, "text": "out\nfd\n", "stderr": "err\n"},
    ),
    Case(
        "output is sent while the tool runs, also for a call that never ends",
        shell("echo first; echo error >&2; sleep 1000"),
        {"outcome": "timed_out", "error": "timeout", "streamed": {"stdout": "first\n", "stderr": "error\n"}},
        sandbox=limits(timeout="100s"), hurry=1,
    ),
)  # fmt: skip
