"""Start toolc's own programs beside this process, and wait for descriptors."""

import os
import select
import sys
from pathlib import Path


def start_program(file: str, argument: str, stdin: int) -> int:
    """Start a file of this folder that needs only the standard library, in a new session. Return its process id.

    The process has ``stdin``, and of the environment only what names the runtime folder. Raises ``OSError``.
    """
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", str(Path(__file__).with_name(file)), argument],
        {name: os.environ[name] for name in ("XDG_RUNTIME_DIR", "TMPDIR") if name in os.environ},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, stdin, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def is_ready(descriptor: int, seconds: float = 0, events: int = select.POLLIN) -> bool:
    """Wait at most this long for one of these events, an error or the end (poll(2)). Return whether it happened."""
    poll = select.poll()
    poll.register(descriptor, events)
    return bool(poll.poll(seconds * 1000))
