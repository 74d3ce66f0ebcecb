"""Compiling the example of a rule: what ``toolc explain`` shows, the docs are made of and the tests run."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from toolc.compiler.compile import Compilation, compile_specs
from toolc.compiler.rule import EXAMPLE, Rule
from toolc.compiler.settings import Settings
from toolc.diagnostics import Severity


def compile_example(rule: Rule, text: str) -> Compilation:
    """What comes of ``text``, one of the examples of ``rule``.

    It is compiled in a folder of its own, which is the current one meanwhile, so that findings name
    the file alone. Findings of the rule's number are in it even where they are off.
    """
    with tempfile.TemporaryDirectory(prefix="toolc-example-") as folder, contextlib.chdir(folder):
        # The root of a repository: no project file further up has a say.
        Path(".git").mkdir()
        for name, content in {**rule.beside, EXAMPLE: text}.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode("utf-8", "surrogateescape"))
        return compile_specs([Path()], Settings(severity={rule.number: Severity.WARNING}))
