"""``--log-format json``: the log is one JSON object per line."""

import json
import subprocess
import sys

PROGRAM = """
import logging
from toolc.telemetry.logs import log_as_json
log_as_json()
logging.getLogger("toolc.serve").warning("two\\nlines of %s", "text")
logging.getLogger("toolc").debug("not shown")
logging.getLogger("toolc.images").info("progress")
try:
    raise ValueError("canary")
except ValueError:
    logging.getLogger("toolc").exception("failed")
"""


def test_each_message_is_one_line_with_its_time_level_and_logger() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    first, second, third = map(json.loads, done.stderr.splitlines())
    assert first.pop("time").endswith("+00:00")
    assert first == {"level": "WARNING", "logger": "toolc.serve", "message": "two\nlines of text"}
    assert (second["level"], second["message"]) == ("INFO", "progress")
    assert (third["message"], third["error"]) == ("failed", "ValueError")
    assert "canary" not in done.stderr


def test_every_command_accepts_the_format() -> None:
    command = [sys.executable, "-m", "toolc", "--log-format", "json", "list", "--builtin", "coding"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
