"""Attempts in addition to those of toolc (``tests/data/kernel-attempts.yaml``), and the tool that makes all of them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attempts_help
from project.data_files import load_yaml

from toolc.data.probes import attempts

LISTENER: Final = f"toolc-conformance-{os.getpid()}"
"""The name of an abstract socket that this process listens on while the attempts are made."""

_DATA: Final = load_yaml("kernel-attempts")

CHAPTERS: Final[Mapping[str, Mapping[str, str]]] = _DATA["attempts"]
"""The code of each attempt by chapter and name."""

BEYOND: Final = {name: code for chapter in CHAPTERS.values() for name, code in chapter.items()}
"""The code of each attempt by name."""

HOST: Final[attempts.Host] = {"secret": "", "word": "", "socket": "", "port": 0}

NAMES: Final = (*attempts.attempts(HOST), *BEYOND)
"""The names of all attempts: those of toolc, and these."""

_HELP: Final = Path(attempts_help.__file__).read_text(encoding="utf-8").partition("# Inside the sandbox")[2]

TOOL: Final = "\n".join(
    (
        Path(attempts.__file__).read_text(encoding="utf-8"),
        f"import ctypes, fcntl, mmap, os, socket, stat, struct\nfrom functools import partial\n#{_HELP}",
        f"def run(): return all_attempts({BEYOND!r}, {_DATA['system_calls']!r}, {LISTENER!r})",
    )
)
"""The code of a Python tool: ``run`` makes every attempt and returns ``refused`` or ``done`` for each."""
