"""A batch whose process is killed at any time runs no call twice, and leaves nothing on the host."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

from engines.oci_cases import needs_oci
from engines.waiting_sandboxes import until

pytestmark = needs_oci

SPEC = """\
toolc: 1
name: append
description: Append one line to a file of the workspace, for the tests of batches only.
parameters: {word: {type: string, description: A word}}
backend: {shell: {script: 'echo "$ARG_word" >> words.txt; WAIT; echo "$ARG_word"'}}
sandbox: {workspace: rw, limits: {timeout: 300s}}
"""
COUNT = 60


def batch(folder: Path, *options: str) -> subprocess.Popen[str]:
    argv = [
        sys.executable, "-m", "toolc", "batch", "append.yaml", "calls.jsonl", "--out", "out.jsonl", "--engine", "oci",
        "--concurrency", "4", *options,
    ]  # fmt: skip
    return subprocess.Popen(argv, cwd=folder, stderr=subprocess.PIPE, text=True)


def ended(folder: Path) -> list[str]:
    path = folder / "out.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def has_ended(folder: Path, number: int) -> bool:
    return len(ended(folder)) >= number


def write(folder: Path, wait: str = "sleep 0.05") -> None:
    (folder / "append.yaml").write_text(SPEC.replace("WAIT", wait))
    lines = (json.dumps({"id": f"c{n}", "tool": "append", "arguments": {"word": f"w{n}"}}) for n in range(COUNT))
    (folder / "calls.jsonl").write_text("".join(f"{line}\n" for line in lines))


def test_no_call_runs_twice_although_the_batch_is_killed_three_times(tmp_path: Path) -> None:
    write(tmp_path)
    for number in (5, 20, 35):
        with batch(tmp_path) as process:
            until(partial(has_ended, tmp_path, number))
            process.kill()
    with batch(tmp_path, "--in-order") as process:
        _, err = process.communicate()
    results = [json.loads(line) for line in ended(tmp_path)]
    assert [each["id"] for each in results] == [f"c{number}" for number in range(COUNT)]
    status = Counter(each["status"] for each in results)
    assert status["ok"] + status["unknown"] == COUNT
    # At each kill, 4 calls run, and as many more are recorded and wait for a thread. 8 others may have ended, because
    # the next calls are recorded as started before they are recorded as ended.
    assert status["unknown"] <= 3 * 2 * (4 + 4)
    words = Counter((tmp_path / "words.txt").read_text().split())
    assert max(words.values()) == 1, "a call ran twice"
    assert {each["result"]["content"][0]["text"].strip() for each in results if "result" in each} <= {*words}
    assert f"{status['ok']} ok" in err


def test_calls_of_a_denied_tool_do_not_run(tmp_path: Path) -> None:
    write(tmp_path)
    with batch(tmp_path, "--deny", "append") as process:
        _, err = process.communicate()
    assert (process.returncode, f"{COUNT} denied" in err) == (1, True)
    assert not (tmp_path / "words.txt").exists()
    with batch(tmp_path, "--deny", "apend") as process:
        _, err = process.communicate()
    assert (process.returncode, "'apend' is neither the name nor a tag of a tool" in err) == (2, True)


def test_after_ctrl_c_running_calls_end_and_the_next_run_goes_on(tmp_path: Path) -> None:
    write(tmp_path, "while [ -e hold ] && [ $ARG_word != w0 ]; do sleep 0.05; done")
    (tmp_path / "hold").touch()
    with batch(tmp_path) as process:
        until(partial(has_ended, tmp_path, 1))
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while "waiting for the running calls" not in (line := process.stderr.readline()):
            assert line, "the batch has ended"
        (tmp_path / "hold").unlink()
        _, err = process.communicate()
    assert process.returncode == 130
    assert "to run them, repeat the command" in err
    assert all(json.loads(line)["status"] == "ok" for line in ended(tmp_path))
    time.sleep(0.2)  # a call that was not recorded would write now
    assert len((tmp_path / "words.txt").read_text().split()) == len(ended(tmp_path)) < COUNT
    with batch(tmp_path) as process:
        _, err = process.communicate()
    assert process.returncode == 0
    assert "toolc: resuming: " in err
    assert len((tmp_path / "words.txt").read_text().split()) == COUNT
