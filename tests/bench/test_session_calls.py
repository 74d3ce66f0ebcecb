"""The cost of a call to a plugin in a session, without the plugin's own time, compared with starting a small program.

It is measured with a plugin whose answers have call ids, and with one without: then each immediate next call waits
for a second answer. Run with ``make bench``. Rounds are interleaved; no test fails because of a time.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.names import ENGINES
from toolc.sandbox.selection import probe

ROUNDS = 300
PLUGIN = '''
import json, sys
DEFINITION = {"name": "echo", "description": "Say the same word again, to see what a call costs.",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}}
for line in sys.stdin:
    request = json.loads(line)
    answer = DEFINITION
    if request["type"] == "call":
        answer = {"content": [{"type": "text", "text": request["params"]["word"]}], "error": False}
        if sys.argv[1:] == ["names calls"]:
            answer["call_id"] = request["call_id"]
    print(json.dumps(answer), flush=True)
'''  # fmt: skip
SPEC = {
    "toolc": 1,
    "name": "echo",
    "description": "Say the same word again, to see what a call costs.",
    "parameters": {"word": {"type": "string"}},
    "sandbox": {"lifetime": "session"},
}
CALL = b'{"type":"call","call_id":"c","params":{"word":"hello"}}\n'


def milliseconds(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return (perf_counter() - begun) * 1000


@pytest.mark.parametrize("words", [["names calls"], []], ids=["names calls", "as the protocol has it"])
@pytest.mark.parametrize("name", ENGINES)
def test_a_call_into_a_session(name: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not probe(name).available:
        pytest.skip(probe(name).reason)
    (tmp_path / "echo.py").write_text(PLUGIN, encoding="utf-8")
    plugin = {"plugin": {"command": ["python3", "echo.py", *words], "files": ["echo.py"]}}
    (tmp_path / "echo.yaml").write_text(json.dumps({**SPEC, "backend": plugin}), encoding="utf-8")
    command = [sys.executable, str(tmp_path / "echo.py"), *words]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bare,
        Executor(Registry.load(tmp_path / "echo.yaml"), engine=name) as executor,
    ):
        stdin, stdout = bare.stdin, bare.stdout
        assert stdin is not None
        assert stdout is not None

        def ask() -> None:
            stdin.write(CALL)
            stdin.flush()
            stdout.readline()

        subjects: dict[str, Callable[[], object]] = {
            "the plugin alone": ask,
            "call": lambda: executor.run("echo", {"word": "hello"}),
            "subprocess.run(echo)": lambda: subprocess.run(["/bin/echo", "hello"], capture_output=True, check=True),
        }
        taken = {each: [milliseconds(work) for _ in range(ROUNDS)] for each, work in subjects.items()}
        stdin.close()
    medians = {each: statistics.median(found) for each, found in taken.items()}
    over = medians["call"] - medians["the plugin alone"]
    with capsys.disabled():
        print(
            f"\nsession of {name}, a plugin that {words[0] if words else 'names no calls'}: "
            + ", ".join(f"{each} {found:.2f} ms" for each, found in medians.items())
        )
        print(f"  over the plugin's own time: {over / medians['subprocess.run(echo)']:.2f} x subprocess.run(echo)")
