"""Python tools: return values, exceptions and output of functions, and their environment."""

import re
from typing import Final

from conformance_case import OK, Case, Difference, fails, limits, python, says

CASES: Final = (
    Case(
        "a returned string is the text", python("def run(name):\n    return f'hello {name}'"),
        {**OK, "text": "hello wörld", "structured": None}, args={"name": "wörld"},
    ),
    Case(
        "returned data is structured and also text",
        python("def run():\n    return {'a': [1, 2.5, None, True, 'ü']}"),
        {**OK, "text": '{"a":[1,2.5,null,true,"ü"]}', "structured": {"a": [1, 2.5, None, True, "ü"]}},
    ),
    Case("a function may return nothing", python("def run():\n    pass"), {**OK, "text": "", "structured": None}),
    Case(
        "bytes that are an image are an image",
        python("def run():\n    return b'\\x89PNG\\r\\n\\x1a\\n' + bytes(10)"),
        {**OK, "text": "", "images": ["image/png 48f237fb4ca6"]},
    ),
    Case(
        "bytes that are not an image are an error with a suggestion", python("def run():\n    return b'abc'"),
        fails("serialization", re.compile(r"the function returned 3 bytes that are not a PNG.*")),
    ),
    Case(
        "an async function is awaited",
        python("import asyncio\nasync def run():\n    await asyncio.sleep(0.01)\n    return 'awaited'"),
        says("awaited"),
    ),
    Case(
        "an exception is an error with its message", python("def run():\n    return [][3]"),
        fails("execution", "IndexError: list index out of range", outcome="exited"),
    ),
    Case(
        "a missing file is not_found", python("def run():\n    return open('/no/such/file').read()"),
        fails("not_found", re.compile(r"FileNotFoundError: .*'/no/such/file'")),
    ),
    Case(
        "a file that cannot be written is an error of kind denied or file",
        python("def run():\n    open('/usr/x', 'w')"),
        {"error": "file", "message": re.compile(r"OSError: .*Read-only file system: '/usr/x'")},
        differs={
            "docker+gvisor": Difference(
                "gVisor checks the permissions of a folder before those of its mount",
                {"error": "denied", "message": "PermissionError: [Errno 13] Permission denied: '/usr/x'"},
            )
        },
    ),
    Case(
        "ctx.error sets the kind", python("def run(ctx):\n    raise ctx.error('rate_limit', 'slow down')"),
        fails("rate_limit", "slow down"),
    ),
    Case("ctx has the call's id", python("def run(ctx):\n    return ctx.call_id"), says("c1")),
    Case(
        "ctx.result has separate content, data and details",
        python("def run(ctx):\n    return ctx.result('words', structured={'n': 1}, details={'source': 'cache'})"),
        {**OK, "text": "words", "structured": {"n": 1}, "tool": {"source": "cache"}},
    ),
    Case(
        "ctx.progress reaches the caller",
        python("def run(ctx):\n    ctx.progress(40, 'almost'); ctx.progress(None, 'who knows'); return 'done'"),
        {**OK, "text": "done", "progress": [[40, "almost"], [None, "who knows"]]},
    ),
    Case(
        "ctx.log and print are in the details, not in the text",
        python("def run(ctx):\n    ctx.log('logged'); print('printed'); return 'returned'"),
        {**OK, "text": "returned", "stderr": "logged\n", "stdout": "printed\n"},
    ),
    Case(
        "a missing function is an error of the tool",
        {"python": {"code": "x = 1\nif x > 1:\n    def run(): pass\n", "function": "run"}},
        fails("execution", re.compile(r".* has no function run")),
    ),
    Case(
        "code that fails while it is loaded is an error of the tool", python("1 / 0\ndef run(): pass"),
        fails("execution", "ZeroDivisionError: division by zero"),
    ),
    Case(
        "sys.exit is an error, never a success", python("import sys\ndef run():\n    sys.exit(0)"),
        fails("execution", "the function ended its process: sys.exit(0)"),
    ),
    Case(
        "os._exit is an error, never a success", python("import os\ndef run():\n    os._exit(0)"),
        fails("execution", "the process ended with status 0 and no answer"),
    ),
    Case(
        "a function whose process is killed reports the signal",
        python("import os\ndef run():\n    os.kill(os.getpid(), 11)"),
        fails("execution", "the function's process was killed by SIGSEGV"),
    ),
    Case(
        "a forked child that returns does not respond twice",
        python("import os\ndef run():\n    pid = os.fork()\n    if pid: os.waitpid(pid, 0)\n    return 'once'"),
        says("once"),
    ),
    Case(
        "a running thread does not delay the result",
        python(
            "import threading, time\n"
            "def run():\n"
            "    threading.Thread(target=time.sleep, args=[1000], daemon=True).start()\n"
            "    return 'done'"
        ),
        says("done"),
        sandbox=limits(timeout="100s"),
    ),
    Case(
        "endless recursion is an error", python("def run():\n    return run()"),
        fails("execution", re.compile(r"RecursionError: maximum recursion depth exceeded.*")),
    ),
    Case(
        "a number without a JSON form is an error with its position",
        python("def run():\n    return {'a': [float('nan')]}"),
        fails(
            "serialization", "the result cannot be sent as JSON: the value['a'][0] is nan, which is not a JSON number"
        ),
    ),
    Case(
        "a value that contains itself is an error", python("def run():\n    a = []\n    a.append(a)\n    return a"),
        fails("serialization", "the result cannot be sent as JSON: the value[0] contains itself"),
    ),
    Case(
        "a result that is too long is an error", python("def run():\n    return 'x' * 1000000"),
        fails("output_limit", re.compile(r"the function's result has 1000\d\d\d bytes, .*")),
        sandbox=limits(output="16KiB"),
    ),
    Case("a lone surrogate in a result is replaced", python("def run():\n    return 'a\\ud800b'"), says("a?b")),
    Case(
        "a large integer is unchanged", python("def run():\n    return 2 ** 100"),
        {**OK, "text": "1267650600228229401496703205376", "structured": 2**100},
    ),
    Case("stdin of a function is empty", python("import sys\ndef run():\n    return sys.stdin.read()"), says("")),
    Case(
        "a function has the environment of its spec and no other",
        python("import os\ndef run():\n    return sorted(os.environ)"),
        {**OK, "structured": ["A", "HOME", "LANG", "LOGNAME", "PATH", "TOOLC_CALL_ID", "USER"]},
        sandbox={"env": {"A": "b"}},
    ),
    Case(
        "a function can start programs",
        python("import subprocess\ndef run():\n    return subprocess.getoutput('echo hi')"), says("hi"),
    ),
    Case(
        "an exception whose text cannot be read is still an error",
        python("class Odd(Exception):\n    def __str__(self): raise ValueError\ndef run():\n    raise Odd()"),
        fails("execution", "Odd"),
    ),
    Case(
        "a process pool works",
        python(
            "from concurrent.futures import ProcessPoolExecutor\n"
            "import math\n"
            "def run():\n"
            "    with ProcessPoolExecutor(2) as pool: return list(pool.map(math.factorial, [3, 4]))"
        ),
        {**OK, "structured": [6, 24]},
    ),
)  # fmt: skip
