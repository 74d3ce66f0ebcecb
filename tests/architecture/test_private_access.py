"""Unit tests use no private names, except in files that ``pyproject.toml`` lists."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

MAX_LISTED = 22
"""The number of listed files, which is never raised."""


def test_every_listed_file_still_uses_private_names_and_none_is_added() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    ignored = lint["per-file-ignores"]
    listed = sorted(path for path, rules in ignored.items() if path.startswith("tests/unit/") and "SLF" in rules)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "SLF", "--output-format", "concise"]
    done = subprocess.run([*command, *listed], cwd=ROOT, capture_output=True, text=True, check=False)
    using = {line.partition(":")[0] for line in done.stdout.splitlines() if "SLF001" in line}
    assert [path for path in listed if path not in using] == [], "remove these files from the list"
    assert len(listed) <= MAX_LISTED
