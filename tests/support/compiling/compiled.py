from pathlib import Path

from toolc.compiler.pipeline.compile import Compilation, compile_specs
from toolc.model.spec.tool import ToolSpec

HEAD = "toolc: 1\nname: hello\ndescription: Say hello to the whole world.\n"
ECHO = "backend: {shell: {argv: [echo, hello]}}\n"


def compile_text(folder: Path, text: str, name: str = "tool.yaml") -> Compilation:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode())
    return compile_specs([folder / name])


def tool_of(folder: Path, text: str) -> ToolSpec:
    """Return the only tool of a spec without findings."""
    compilation = compile_text(folder, text)
    assert compilation.diagnostics.sorted() == ()
    return compilation.tools[0]


def found_in(folder: Path, text: str) -> list[str]:
    """Return the findings about a spec: line, column, code and message."""
    found = compile_text(folder, text).diagnostics.sorted()
    return [f"{each.span.start.line}:{each.span.start.column} {each.code.number} {each.message}" for each in found]
