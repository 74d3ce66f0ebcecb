"""Specs with long runs of one kind of text, which must be compiled in time proportional to their size."""

from collections.abc import Callable
from cProfile import Profile
from pathlib import Path
from typing import Final

from toolc.compiler.pipeline.compile import FileResult, compile_text
from toolc.compiler.project.discovery import Projects, SpecFile
from toolc.compiler.project.settings import Settings
from toolc.model.diagnostics import Diagnostics

_HEAD: Final = "toolc: 1\nname: hello\ndescription: Say hello to the whole world.\n"
_ECHO: Final = "backend: {shell: {argv: [echo, hello]}}\n"

RUNS: Final = (
    "[", "{", "(", "]", "'", '"', "`", ",", ":", "-", "#", "&", "*", "!", "|", ">", "%", "@", "\\", "$", " ", "\t",
    "\n", "a", "A1", "0", "-0", "1:0", "1_", ".", "=", "/", "<", "~", "?", "é", "\u200b", "{{", "}}", "{{ a }}", "- ",
    "a: ", "&a ", "[ ", "[a, ", "''", "' ", '" ', " #", "\n ", "\n- ", "a-", "sk-", "http://a", "a@b.c ", "<a>", "a. ",
    "${",
)  # fmt: skip
"""Texts that are repeated: each class of characters that a parser or a check treats in its own way."""

PLACES: Final[dict[str, Callable[[str], str]]] = {
    "plain.yaml": lambda run: f"toolc: 1\nname: hello\ndescription: Say {run}\n{_ECHO}",
    "double.yaml": lambda run: f'toolc: 1\nname: hello\ndescription: "Say {run}"\n{_ECHO}',
    "block.yaml": lambda run: f"toolc: 1\nname: hello\ndescription: |\n  Say {run} to\n{_ECHO}",
    "list.yaml": lambda run: f"{_HEAD}backend: {{shell: {{argv: [echo, {run}]}}}}\n",
    "open.yaml": lambda run: f"toolc: 1\nname: hello\ndescription: [{run}\n{_ECHO}",
    "key.yaml": lambda run: f"{_HEAD}{run}: 1\n{_ECHO}",
    "script.yaml": lambda run: f"{_HEAD}backend:\n  shell:\n    script: |\n      echo {run} end\n",
    "python.yaml": lambda run: f"{_HEAD}backend:\n  python:\n    code: |\n      def hello(): return {run}\n",
    "url.yaml": lambda run: f"{_HEAD}backend: {{http: {{method: GET, url: 'https://a.example/{run}'}}}}\n",
    "text.toml": lambda run: f"toolc = 1\nname = 'hello'\ndescription = '{run}'\n[backend.shell]\nargv = ['a']\n",
    "open.toml": lambda run: f"toolc = 1\nname = 'hello'\ndescription = [{run}\n",
}
"""Where a run can be in a spec, by the name of the file."""


def spec_with_run(name: str, run: str, size: int) -> bytes:
    """Return the spec ``name`` with ``size`` bytes of a run."""
    return PLACES[name](run * (size // len(run.encode()))).encode()


def compiled(name: str, data: bytes) -> FileResult:
    """Compile a spec."""
    file = SpecFile(path=Path(name), display_path=name, folder=None)
    return compile_text(data, file, Projects(Diagnostics()), Settings())


def counted_calls(work: Callable[[], object]) -> int:
    """Return how many functions, of Python and of C, ``work`` calls."""
    profile = Profile(subcalls=False)
    profile.runcall(work)
    return sum(each.callcount for each in profile.getstats())
