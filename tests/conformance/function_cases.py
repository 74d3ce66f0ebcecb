"""Python tools: what a function returns, raises and prints, and what it finds around it."""

from __future__ import annotations

import re
from typing import Final

from conformance_case import OK, Case, Difference, fails, limits, python, says

CASES: Final = (
    Case(
        name="a text that a function returns is the text",
        backend=python("def run(name):\n    return f'hello {name}'"),
        args={"name": "wörld"},
        expect={**OK, "text": "hello wörld", "structured": None},
    ),
    Case(
        name="data that a function returns is structured and as text too",
        backend=python("def run():\n    return {'a': [1, 2.5, None, True, 'ü']}"),
        expect={**OK, "text": '{"a":[1,2.5,null,true,"ü"]}', "structured": {"a": [1, 2.5, None, True, "ü"]}},
    ),
    Case(
        name="a function may return nothing",
        backend=python("def run():\n    pass"),
        expect={**OK, "text": "", "structured": None},
    ),
    Case(
        name="bytes that are an image are an image",
        backend=python("def run():\n    return b'\\x89PNG\\r\\n\\x1a\\n' + bytes(10)"),
        expect={**OK, "text": "", "images": ["image/png 48f237fb4ca6"]},
    ),
    Case(
        name="bytes that are not an image are an error with the remedy",
        backend=python("def run():\n    return b'abc'"),
        expect=fails("serialization", re.compile(r"the function returned 3 bytes that are not a PNG.*")),
    ),
    Case(
        name="an async function is waited for",
        backend=python("import asyncio\nasync def run():\n    await asyncio.sleep(0.01)\n    return 'awaited'"),
        expect=says("awaited"),
    ),
    Case(
        name="an exception is an error with its place",
        backend=python("def run():\n    return [][3]"),
        expect=fails("execution", "IndexError: list index out of range", outcome="exited"),
    ),
    Case(
        name="a missing file is not_found",
        backend=python("def run():\n    return open('/no/such/file').read()"),
        expect=fails("not_found", re.compile(r"FileNotFoundError: .*'/no/such/file'")),
    ),
    Case(
        name="a file that may not be written is denied or an error of the file",
        backend=python("def run():\n    open('/usr/x', 'w')"),
        expect={"error": "file", "message": re.compile(r"OSError: .*Read-only file system: '/usr/x'")},
        differs={
            "docker+gvisor": Difference(
                "gVisor looks at a folder's permissions before its mount's",
                {"error": "denied", "message": "PermissionError: [Errno 13] Permission denied: '/usr/x'"},
            )
        },
    ),
    Case(
        name="ctx.error sets the kind",
        backend=python("def run(ctx):\n    raise ctx.error('rate_limit', 'slow down')"),
        expect=fails("rate_limit", "slow down"),
    ),
    Case(name="ctx has the call's id", backend=python("def run(ctx):\n    return ctx.call_id"), expect=says("c1")),
    Case(
        name="ctx.result has content, data and details apart",
        backend=python(
            "def run(ctx):\n    return ctx.result('words', structured={'n': 1}, details={'source': 'cache'})"
        ),
        expect={**OK, "text": "words", "structured": {"n": 1}, "tool": {"source": "cache"}},
    ),
    Case(
        name="ctx.progress reaches the caller",
        backend=python("def run(ctx):\n    ctx.progress(40, 'almost'); ctx.progress(None, 'who knows'); return 'done'"),
        expect={**OK, "text": "done", "progress": [[40, "almost"], [None, "who knows"]]},
    ),
    Case(
        name="ctx.log and print are details and not for the model",
        backend=python("def run(ctx):\n    ctx.log('logged'); print('printed'); return 'returned'"),
        expect={**OK, "text": "returned", "stderr": "logged\n", "stdout": "printed\n"},
    ),
    Case(
        name="a name that the code does not have is an error of the tool",
        backend={"python": {"code": "x = 1\nif x > 1:\n    def run(): pass\n", "function": "run"}},
        expect=fails("execution", re.compile(r".* has no function run")),
    ),
    Case(
        name="code that fails while it is loaded is an error of the tool",
        backend=python("1 / 0\ndef run(): pass"),
        expect=fails("execution", "ZeroDivisionError: division by zero"),
    ),
    Case(
        name="sys.exit is an error and never a success",
        backend=python("import sys\ndef run():\n    sys.exit(0)"),
        expect=fails("execution", "the function ended its process: sys.exit(0)"),
    ),
    Case(
        name="os._exit is an error and never a success",
        backend=python("import os\ndef run():\n    os._exit(0)"),
        expect=fails("execution", "the process ended with status 0 and no answer"),
    ),
    Case(
        name="a function whose process is killed reports the signal",
        backend=python("import os\ndef run():\n    os.kill(os.getpid(), 11)"),
        expect=fails("execution", "the function's process was killed by SIGSEGV"),
    ),
    Case(
        name="a fork that comes back does not answer twice",
        backend=python("import os\ndef run():\n    pid = os.fork()\n    if pid: os.waitpid(pid, 0)\n    return 'once'"),
        expect=says("once"),
    ),
    Case(
        name="a thread that goes on does not hold the call",
        backend=python(
            "import threading, time\n"
            "def run():\n"
            "    threading.Thread(target=time.sleep, args=[1000], daemon=True).start()\n"
            "    return 'done'"
        ),
        sandbox=limits(timeout="100s"),
        expect=says("done"),
    ),
    Case(
        name="endless recursion is an error",
        backend=python("def run():\n    return run()"),
        expect=fails("execution", re.compile(r"RecursionError: maximum recursion depth exceeded.*")),
    ),
    Case(
        name="a number that JSON has not is an error that names its place",
        backend=python("def run():\n    return {'a': [float('nan')]}"),
        expect=fails(
            "serialization", "the result cannot be sent as JSON: the value['a'][0] is nan, which is not a JSON number"
        ),
    ),
    Case(
        name="a value that contains itself is an error",
        backend=python("def run():\n    a = []\n    a.append(a)\n    return a"),
        expect=fails("serialization", "the result cannot be sent as JSON: the value[0] contains itself"),
    ),
    Case(
        name="an answer that is too long is an error",
        backend=python("def run():\n    return 'x' * 1000000"),
        sandbox=limits(output="16KiB"),
        expect=fails("output_limit", re.compile(r"the function's result has 1000\d\d\d bytes, .*")),
    ),
    Case(
        name="half a character is replaced in an answer",
        backend=python("def run():\n    return 'a\\ud800b'"),
        expect=says("a?b"),
    ),
    Case(
        name="a large integer stays what it is",
        backend=python("def run():\n    return 2 ** 100"),
        expect={**OK, "text": "1267650600228229401496703205376", "structured": 2**100},
    ),
    Case(
        name="stdin of a function is empty",
        backend=python("import sys\ndef run():\n    return sys.stdin.read()"),
        expect=says(""),
    ),
    Case(
        name="a function has the environment of its spec and no other",
        backend=python("import os\ndef run():\n    return sorted(os.environ)"),
        sandbox={"env": {"A": "b"}},
        expect={**OK, "structured": ["A", "HOME", "LANG", "LOGNAME", "PATH", "TOOLC_CALL_ID", "USER"]},
    ),
    Case(
        name="a function can start programs",
        backend=python("import subprocess\ndef run():\n    return subprocess.getoutput('echo hi')"),
        expect=says("hi"),
    ),
    Case(
        name="an exception whose text cannot be read is still an error",
        backend=python("class Odd(Exception):\n    def __str__(self): raise ValueError\ndef run():\n    raise Odd()"),
        expect=fails("execution", "Odd"),
    ),
    Case(
        name="a process pool works",
        backend=python(
            "from concurrent.futures import ProcessPoolExecutor\n"
            "import math\n"
            "def run():\n"
            "    with ProcessPoolExecutor(2) as pool: return list(pool.map(math.factorial, [3, 4]))"
        ),
        expect={**OK, "structured": [6, 24]},
    ),
)
