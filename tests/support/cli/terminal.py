"""``toolc run`` with a fake engine in a process on a pseudo-terminal."""

import os
import pty
import subprocess
import sys
import threading
from contextlib import suppress

from project.paths import SUPPORT

PROGRAM = """
import sys
sys.path.insert(0, {support!r})
import toolc.client.executor
from toolc.cli.commands.run import command
from toolc.sandbox.selection import EngineSelection
{setup}
toolc.client.executor.select = lambda *_: EngineSelection(engine)
command({arguments!r})
"""


def run_on_terminal(arguments: list[str], setup: str, answers: list[str]) -> tuple[int, str]:
    """Run ``toolc run`` with ``arguments`` and answer its prompts. Return its exit status and its output.

    ``setup`` is Python code that defines ``engine``. The next answer is written after each prompt, ``[y/N]: ``.
    """
    program = PROGRAM.format(support=str(SUPPORT), setup=setup, arguments=arguments)
    left = [each.encode() for each in answers]
    printed = b""
    ours, theirs = pty.openpty()
    with (
        os.fdopen(ours, "r+b", buffering=0) as screen,
        subprocess.Popen([sys.executable, "-c", program], stdin=theirs, stdout=theirs, stderr=theirs) as process,
    ):
        os.close(theirs)
        deadline = threading.Timer(150, process.kill)
        deadline.start()
        with suppress(OSError):  # Linux reports EIO when the other end of a terminal is closed.
            while piece := screen.read(4096):
                printed += piece
                if left and printed.endswith(b"[y/N]: "):
                    screen.write(left.pop(0))
        status = process.wait(60)
        deadline.cancel()
    return status, printed.decode()
