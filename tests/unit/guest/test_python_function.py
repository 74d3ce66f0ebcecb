"""Python functions in a real sandbox: arguments, results and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from real_guest import Guest

from toolc.guest.answer import MAX_TRACEBACK
from toolc.model.json_schema import JsonObject
from toolc.model.plan import PythonCall
from toolc.model.result import Image, Outcome, Resource, Text
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import EnvVar

pytestmark = pytest.mark.slow

GIF = Image(b"GIF89a", "image/gif")


def reply(outcome: Outcome) -> dict[str, Any]:
    assert (outcome.ending, outcome.status) == ("exited", 0), outcome
    assert outcome.reply is not None
    answer: dict[str, Any] = json.loads(outcome.reply.data())
    return answer


def text(value: str) -> JsonObject:
    return {"type": "text", "text": value}


def returned(guest: Guest, code: str, arguments: JsonObject | None = None) -> dict[str, Any]:
    return reply(guest.function(code, arguments))


def raised(guest: Guest, code: str) -> dict[str, Any]:
    error: dict[str, Any] = returned(guest, code)["error"]
    return error


def test_arguments_are_keywords_and_data_is_structured(guest: Guest) -> None:
    answer = returned(guest, "def run(*, a, b=2): return {'a': a, 'b': b}", {"a": [1, None, "ü"]})
    assert answer == {
        "content": [text('{"a":[1,null,"ü"],"b":2}')],
        "structured": [{"a": [1, None, "ü"], "b": 2}],
        "details": {},
    }


RETURNS: dict[str, tuple[str, list[JsonObject], list[object] | None]] = {
    "text": ("'two words'", [text("two words")], None),
    "nothing": ("None", [], None),
    "number": ("1.5", [text("1.5")], [1.5]),
    "false": ("False", [text("false")], [False]),
    "empty list": ("[]", [text("[]")], [[]]),
    "tuple": ("(1, 'a')", [text('[1,"a"]')], [[1, "a"]]),
    "half a surrogate pair": ("'\\ud800'", [text("\ufffd")], None),
    "png": (
        "b'\\x89PNG\\r\\n\\x1a\\n...'",
        [{"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgouLi4="}],
        None,
    ),
}


@pytest.mark.parametrize(("value", "content", "structured"), RETURNS.values(), ids=RETURNS.keys())
def test_return_values_become_content_and_data(
    guest: Guest, value: str, content: list[JsonObject], structured: list[object] | None
) -> None:
    answer = returned(guest, f"def run(): return {value}")
    assert answer == {"content": content, "structured": structured, "details": {}}


def test_printed_text_is_output_and_not_the_result(guest: Guest) -> None:
    # The last line of stderr has no newline.
    code = "import sys\ndef run():\n    print('out ü')\n    sys.stderr.write('err')\n    return 'x'"
    outcome = guest.function(code)
    assert (outcome.stdout.text(), outcome.stderr.text()) == ("out ü\n", "err")
    assert reply(outcome)["content"] == [text("x")]


def test_ctx_has_the_call_id_and_reports_progress(guest: Guest) -> None:
    code = """
def run(n, ctx):
    ctx.progress(0, "start")
    ctx.progress(None)
    ctx.progress(250, "too much")
    ctx.log("noted")
    return ctx.result("words", structured={"id": ctx.call_id, "n": n}, details={"rows": 3})
"""
    outcome = guest.function(code, {"n": 7})
    assert reply(outcome) == {"content": [text("words")], "structured": [{"id": "c-1", "n": 7}], "details": {"rows": 3}}
    assert outcome.stderr.text() == "noted\n"
    assert guest.progress == [(0.0, "start"), (None, ""), (None, "too much")]


IMAGE: JsonObject = {"type": "image", "mime_type": "image/gif", "data": "R0lGODlh"}
DECORATED = """
import functools
def twice(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs) * 2
    return inner
@twice
def run(ctx): return ctx.call_id
"""
FILES = """
def run(ctx):
    open('/tmp/a.txt', 'w').write('wörds')
    open('/tmp/a.gif', 'wb').write(b'GIF89a')
    return ctx.result([ctx.file('/tmp/a.txt'), ctx.file('/tmp/a.gif')])
"""
THREAD = """
import threading, time
def run():
    threading.Thread(target=time.sleep, args=(1000,)).start()
    return 'x'
"""
CONTENT: dict[str, tuple[str, list[JsonObject]]] = {
    "decorated function": (DECORATED, [text("c-1c-1")]),
    "coroutine": ("import asyncio\nasync def run():\n    await asyncio.sleep(0)\n    return 'hi'", [text("hi")]),
    "generator": (
        "def run():\n    yield 'a'\n    yield b'GIF89a'\n    yield 'b'\n    yield 'c'\n",
        [text("a"), IMAGE, text("bc")],
    ),
    "ctx.file": (FILES, [text("wörds"), IMAGE]),
    "fork that returns": (
        "import os\ndef run():\n    if (pid := os.fork()): os.waitpid(pid, 0)\n    return 'once'", [text("once")],
    ),
    "running thread": (THREAD, [text("x")]),
}  # fmt: skip


@pytest.mark.parametrize(("code", "content"), CONTENT.values(), ids=CONTENT.keys())
def test_the_content_of_a_result(guest: Guest, code: str, content: list[JsonObject]) -> None:
    assert returned(guest, code)["content"] == content


@pytest.mark.slow
def test_progress_is_rate_limited_and_the_result_arrives(guest: Guest) -> None:
    code = "def run(ctx):\n    for i in range(100_000): ctx.progress(i / 1000, 'x' * 5000)\n    return 'done'"
    assert returned(guest, code)["content"] == [text("done")]
    assert 1000 <= len(guest.progress) < 2000
    assert guest.progress[0] == (0.0, "x" * 1000)


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_generator_yields_progress_and_content(guest: Guest, keyword: str) -> None:
    code = f"{keyword} run():\n    yield 10, 'a tenth'\n    yield 'one '\n    yield 'two'\n    yield None, 'almost'\n"
    assert returned(guest, code)["content"] == [text("one two")]
    assert guest.progress == [(10.0, "a tenth"), (None, "almost")]


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_yielded_text_is_reported_while_the_function_runs(guest: Guest, keyword: str) -> None:
    pause = "await asyncio.sleep(1000)" if "async" in keyword else "time.sleep(1000)"
    code = f"import asyncio, time\n{keyword} run():\n    yield 'öne '\n    {pause}\n    yield 'two'\n"
    guest.function(code, timeout_ms=500)
    if not guest.output:  # the machine was too slow to start the call in that time
        guest.function(code, timeout_ms=50_000)
    assert guest.output == [("content", "öne ")]


def test_a_generators_return_value_replaces_what_it_yielded(guest: Guest) -> None:
    code = "def run():\n    yield 50, 'half'\n    yield 'working'\n    return {'n': 1}"
    answer = returned(guest, code)
    assert (answer["content"], answer["structured"]) == ([text('{"n":1}')], [{"n": 1}])
    assert (guest.progress, guest.output) == ([(50.0, "half")], [("content", "working")])


def test_images_and_files_are_reported_in_the_order_they_are_yielded(guest: Guest) -> None:
    code = (
        "def run():\n    yield 'a'\n    yield b'GIF89a'\n    yield 'b'\n"
        "    yield {'type': 'resource', 'resource': {'uri': 'x/a.csv', 'text': '1', 'mimeType': 'text/csv'}}\n"
    )
    answer = returned(guest, code)
    csv = Resource(b"1", "text/csv", "a.csv")
    assert guest.output == [("content", "a"), ("content", (GIF,)), ("content", "b"), ("content", (csv,))]
    assert [block["type"] for block in answer["content"]] == ["text", "image", "text", "resource"]


def test_progress_can_have_content(guest: Guest) -> None:
    code = (
        "def run(ctx):\n    ctx.progress(40, 'first', b'GIF89a')\n"
        "    ctx.progress(None, 'both', ['so far', b'GIF89a'])\n    return 'done'\n"
    )
    assert returned(guest, code)["content"] == [text("done")]
    assert guest.progress == [(40, "first"), (None, "both")]
    assert guest.output == [("content", (GIF,)), ("content", (Text("so far"), GIF))]


def test_invalid_content_of_progress_is_an_error_of_the_tool(guest: Guest) -> None:
    error = raised(guest, "def run(ctx):\n    ctx.progress(40, 'first', b'no picture')\n    1 / 0")
    assert (error["kind"], guest.progress) == ("serialization", [])
    assert error["message"].startswith("the function returned 10 bytes that are neither a PNG")


@pytest.mark.parametrize("value", ["{'n': 1}", "40", "(True, 'x')", "('40', 'x')", "(1, 2)", "bytes", "None"])
def test_yielding_another_value_is_an_error_immediately(guest: Guest, value: str) -> None:
    error = raised(guest, f"def run():\n    yield {value}\n    1 / 0")
    assert error["message"].startswith("a generator must yield text, images or (percent, message) pairs")


def test_more_yielded_text_than_a_window_arrives(guest: Guest) -> None:
    code = "def run():\n    for _ in range(300): yield 'x' * 10_000\n    return 'done'"
    assert returned(guest, code)["content"] == [text("done")]
    assert sum(len(piece) for _, piece in guest.output) == 256 * 1024


def call_of(*files: tuple[str, str]) -> PythonCall:
    """Return a call of the function ``run`` in the first file."""
    made = tuple(File(path=path, text=code) for path, code in files)
    return PythonCall(entry=made[0].path, function="run", arguments={}, files=made)


def test_other_files_of_the_tool_can_be_imported(guest: Guest) -> None:
    call = call_of(
        ("src/tool.py", "import near, lib.far\ndef run(): return near.x + lib.far.y"),
        ("src/near.py", "x = 'near '"),
        ("lib/far.py", "y = 'far'"),
    )
    assert reply(guest.run(call))["content"] == [text("near far")]


def test_a_tool_file_does_not_hide_a_standard_module(guest: Guest) -> None:
    call = call_of(("statistics.py", "import statistics\ndef run(): return statistics.mean([1, 2, 3])"))
    assert reply(guest.run(call))["structured"] == [2]


def test_the_environment_is_that_of_the_plan(guest: Guest) -> None:
    code = "import os, subprocess\ndef run(): return [dict(os.environ), subprocess.check_output(['env']).decode()]"
    env = (EnvVar(name="PATH", value="/usr/bin"), EnvVar(name="X", value="ü"))
    answer = reply(guest.run(call_of(("tool.py", code)), env=env))
    assert answer["structured"] == [[{"PATH": "/usr/bin", "X": "ü"}, "PATH=/usr/bin\nX=ü\n"]]


ERRORS = {
    "FileNotFoundError": ("open('/nosuch')", "not_found"),
    "PermissionError": ("raise PermissionError(13, 'no')", "denied"),
    "IsADirectoryError": ("open('/')", "file"),
    "ConnectionRefusedError": ("raise ConnectionRefusedError(111, 'refused')", "network"),
    "OSError: [Errno 101]": ("import socket; socket.create_connection(('192.0.2.1', 9))", "network"),
    "OSError: [Errno 28]": ("raise OSError(28, 'full')", "file"),
    "gaierror": ("import socket; socket.getaddrinfo('no.such.host', 80)", "network"),
    "TimeoutError": ("raise TimeoutError('slow')", "timeout"),
    "JSONDecodeError": ("import json; json.loads('{')", "serialization"),
    "MemoryError": ("bytearray(1 << 60)", "out_of_memory"),
    "RecursionError": ("f = lambda: f(); f()", "execution"),
    "ZeroDivisionError": ("1 / 0", "execution"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "execution"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "line", "kind"), [(n, *e) for n, e in ERRORS.items()], ids=ERRORS.keys())
def test_an_exception_becomes_an_error_with_its_location(guest: Guest, name: str, line: str, kind: str) -> None:
    error = raised(guest, f"\ndef run():\n    {line}\n")
    assert error["message"].startswith(name)
    assert (error["kind"], error["file"], error["line"]) == (kind, "tool.py", 3)
    assert error["traceback"].startswith('Traceback (most recent call last):\n  File "/tool/tool.py", line 3, in ')
    assert "bundle" not in error["traceback"]
    assert "toolc" not in error["traceback"]


def test_a_long_traceback_loses_complete_lines_at_its_start(guest: Guest) -> None:
    code = "def run():\n    raise ValueError('begin ' + 'x' * 300 + '\\n' + 'y' * {size} + '\\nend')"
    whole = raised(guest, code.format(size=100))["traceback"]
    assert whole.startswith("Traceback")
    assert whole.endswith("y\nend\n")
    cut = raised(guest, code.format(size=MAX_TRACEBACK - 100))["traceback"]
    assert cut == "y" * (MAX_TRACEBACK - 100) + "\nend\n"


def test_the_location_is_the_last_one_in_the_tools_files(guest: Guest) -> None:
    files = File(path="helper.py", text="import json\n\ndef load(): json.loads('x')")
    error = reply(guest.function("import helper\ndef run(): helper.load()", {}, files))["error"]
    assert (error["file"], error["line"]) == ("helper.py", 3)


def test_a_syntax_error_has_its_location(guest: Guest) -> None:
    error = raised(guest, "x = 1\ndef run(:\n    pass")
    assert (error["kind"], error["file"], error["line"]) == ("execution", "tool.py", 2)
    assert error["message"].startswith("SyntaxError: ")


RAISED = [
    ("def other(): pass", "execution", "tool.py has no function run"),
    ("def run(ctx): raise ctx.error('rate_limit', 'try later')", "rate_limit", "try later"),
    (
        "def run(ctx): raise ctx.error('rate-limit', 'x')", "execution",
        "ValueError: 'rate-limit' is not a kind of error; use one of: invalid_args, ",
    ),
    ("import sys\ndef run(): sys.exit(3)", "execution", "the function called sys.exit(3)"),
    ("import sys\ndef run(): sys.exit()", "execution", "the function called sys.exit()"),
    ("import sys\ndef run(): sys.exit('bye')", "execution", "the function called sys.exit('bye')"),
    ("def run(ctx): return ctx.file('/nosuch')", "not_found", "FileNotFoundError: "),
    (
        "def run(ctx): return ctx.file('/usr/bin/env')", "serialization",
        "/usr/bin/env is not an image, a recording or UTF-8 text",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "kind", "message"), RAISED)
def test_the_kind_and_message_of_an_error(guest: Guest, code: str, kind: str, message: str) -> None:
    error = raised(guest, code)
    assert (error["kind"], error["message"][: len(message)]) == (kind, message)


@pytest.mark.parametrize(("body", "status"), [("os._exit(9)", 9), ("os.closerange(0, 100)", None)])
def test_a_call_that_ends_without_a_reply(guest: Guest, body: str, status: int | None) -> None:
    outcome = guest.function(f"import os\ndef run(): {body}")
    assert (outcome.ending, outcome.status) == ("exited", outcome.status if status is None else status)
    assert outcome.reply is not None
    assert outcome.reply.total_bytes == 0


def test_a_reply_beyond_the_limit_is_marked_as_truncated(guest: Guest) -> None:
    reply = guest.function("def run(): return 'x' * 5_000_000").reply
    assert reply is not None
    assert reply.truncated


@pytest.mark.parametrize("word", ["not_started", "failed"])
def test_a_function_cannot_report_that_it_did_not_start(guest: Guest, word: str) -> None:
    code = f"""
import os
def run(ctx):
    os.write(ctx._control_fd, b'{{"{word}": "forged"}}\\n')
    return 'ran'
"""
    assert returned(guest, code)["content"] == [text("ran")]


def test_invalid_control_lines_are_ignored(guest: Guest) -> None:
    code = """
import os
def run(ctx):
    for junk in (
        b'[' * 60000, b'\\xff', b'1', b'{"percent": 1}', b'{"message": 1}',
        b'{"percent": NaN, "message": "m"}', b'x' * 300_000,
    ):
        os.write(ctx._control_fd, junk + b'\\n')
    ctx.progress(5, 'fine')
    return 'ok'
"""
    assert returned(guest, code)["content"] == [text("ok")]
    assert guest.progress == [(None, "m"), (5.0, "fine")]
