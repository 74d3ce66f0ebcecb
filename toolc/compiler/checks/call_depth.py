"""TC107: tools that call tools that call tools, deeper than a call may go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolc.calls import MAX_DEPTH, by_name, called, circle, depth
from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic


def check(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Each tool from which calls stand too deep in each other."""
    callers = [tool for tool in tools if called(tool.spec)]
    if not callers:
        return
    known = by_name(tool.spec for tool in tools)
    for tool in callers:
        # A circle has no depth, and a page of its own.
        deep = 0 if circle(tool.spec, known) else depth(tool.spec, known)
        if deep > MAX_DEPTH:
            message = f"calls stand {deep} deep in each other here, and {MAX_DEPTH} is the most"
            hint = "let it call what does the work more directly"
            yield Diagnostic(codes.CALL_DEPTH, message, tool.key_span("backend"), hint)


def _chain(last: str) -> str:
    """A chain of tools that each call the next, down to ``last``."""
    names = [*(f"relay_{word}" for word in ("one", "two", "six", "ten", "all", "any", "new")), last]
    return "".join(
        f"  - name: {name}\n"
        f"    description: {purpose}\n"
        f"    backend: {{composite: {{strategy: sequential, steps: [{{id: next, tool: {called}}}]}}}}\n"
        for name, called, purpose in zip(names, names[1:], _PURPOSES, strict=False)
    )


_PURPOSES: Final = (
    "Carry the first of the greetings over to those who wait outside.",
    "Bring good news about the harvest to the village by the river.",
    "Announce at noon which ship has come into the southern harbour.",
    "Tell travellers where the road through the mountains is closed.",
    "Remind the baker of how much flour is left in the old mill.",
    "Ask the watchman whether all lamps in the tower are burning.",
    "Read the letter of the day to everybody who cannot see it.",
)

_HELLO: Final = """\
  - name: hello
    description: Say hello to the whole world.
    backend: {shell: {argv: [echo, hello]}}
"""

RULE: Final = Rule(
    codes=(codes.CALL_DEPTH,),
    explanation="""\
A composite calls other tools, which may be composites again. toolc lets calls stand eight deep in
each other and refuses the ninth: more than that nobody could follow in a review, and a few steps on
each level would be as many calls as no deadline allows. Let the upper tools call directly what does
the work.
""",
    bad=f"toolc: 1\ntools:\n{_chain('relay_end')}"
    "  - name: relay_end\n"
    "    description: Pass the last of the words on to the speaker in the hall.\n"
    "    backend: {composite: {strategy: sequential, steps: [{id: next, tool: hello}]}}\n"
    f"{_HELLO}",
    good=f"toolc: 1\ntools:\n{_chain('hello')}{_HELLO}",
)
