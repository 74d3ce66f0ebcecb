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
from figures import FULL, Part, Single
from recording import record

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.names import ENGINES
from toolc.sandbox.selection import probe

WORDS = {"answers with call ids": ["names calls"], "without call ids": []}
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


def medians(name: str, words: list[str], rounds: int, folder: Path) -> dict[str, float]:
    """Return the milliseconds of the plugin alone, of a call of it, and of a small program."""
    (folder / "echo.py").write_text(PLUGIN, encoding="utf-8")
    plugin = {"plugin": {"command": ["python3", "echo.py", *words], "files": ["echo.py"]}}
    (folder / "echo.yaml").write_text(json.dumps({**SPEC, "backend": plugin}), encoding="utf-8")
    command = [str(Path(sys.executable).resolve()), str(folder / "echo.py"), *words]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as plain,
        Executor(Registry.load(folder / "echo.yaml"), engine=name) as executor,
    ):
        stdin, stdout = plain.stdin, plain.stdout
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
        for work in subjects.values():
            work()
        taken: dict[str, list[float]] = {each: [] for each in subjects}
        for _ in range(rounds):
            for each, work in subjects.items():
                taken[each].append(milliseconds(work))
        stdin.close()
    return {each: statistics.median(found) for each, found in taken.items()}


@pytest.mark.parametrize("name", ENGINES)
def test_a_call_into_a_session(name: str, calls: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not probe(name).available:
        pytest.skip(probe(name).reason)
    figures = []
    for how, words in WORDS.items():
        found = medians(name, words, calls * 3 // 2, tmp_path)
        over = (found["call"] - found["the plugin alone"]) / found["subprocess.run(echo)"]
        cost = f"{over:.2f} x `subprocess.run(echo)`"
        details = f"{name}: a call into a session costs {cost} more than the plugin alone ({how})"
        kind = "session" if how == "answers with call ids" else "plain-session"
        figures.append(Single(name=f"{kind} {name}", value=over, details=details))
    stored = Part.load_all().get("sessions")
    # The other engine is measured by a test of its own.
    figures += (
        [each for each in stored.figures if isinstance(each, Single) and name not in each.name.split()]
        if stored
        else []
    )
    with capsys.disabled():
        record("sessions", min(calls, FULL), figures)
