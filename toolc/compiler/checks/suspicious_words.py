"""TC211: words that give a model orders, as poisoned tools do: "do not tell the user", "before any other tool".

Each phrase is one that has been used in attacks and that a description of what a tool does has no need of. On 755
tools of a public catalogue such phrases were found in 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC211"

NEEDS: Final = frozenset({"name", "description"})


_PHRASES: Final = r"""
(?:ignore|disregard|forget|override|bypass) (?:(?:all|any|every|the|your|my|of) ){0,3}
    (?:previous|prior|above|earlier|preceding|former|system) (?:instruction|prompt|guideline|command|rule)s?
(?:do not|don.?t|never|must not|without) (?:ever )?(?:tell|inform|mention|reveal|show)(?:ing)?
    (?: (?:it|this|that|anything|them)){0,2}(?: to)? the user
(?:hide|conceal|keep) (?:this|it|that|these|everything) (?:\w+ ){0,2}from the user
(?:do not|don.?t|never|without) ask(?:ing)? (?:the )?users? for (?:confirmation|permission|approval|consent)
without the user.?s? (?:knowledge|consent|permission|approval)
before (?:using|calling|invoking|running) (?:any|every|all) (?:of the )?(?:other )?tools?
(?:before|instead of|rather than) (?:any|all|every) other tools?
(?:reveal|repeat|print|output|disclose|leak|pass) (?:(?:all|of|your|the|its|full|entire) ){0,3}
    (?:system prompt|(?:hidden|initial|system) instructions)
exfiltrate (?:\w+ ){0,4}(?:data|credential|secret|key|password|token|file)s?
you are now (?:a|an|in|no longer|free|unrestricted)
from now on you (?:are|must|will|should)
new (?:system )?instructions (?:follow|for the model|for you)
(?:read|contents? of) (?:the )?(?:file )?~/\.(?:ssh|aws|gnupg|cursor|netrc|kube)
"""
"""One phrase a line, indented where it goes on; a space stands for any space and punctuation between words."""

_JOINED: Final = _PHRASES.strip().replace("\n    ", "").replace("\n", "|")
_SUSPICIOUS: Final = rf"\b(?:{_JOINED})\b".replace(" ", r"\W{1,3}")  # compiled where a mark is found: start-up time
_MARKS: Final = (
    "ignore", "disregard", "forget", "override", "bypass", "user", "tool", "prompt", "instruction", "exfiltrate",
    "now", "~/",
)  # fmt: skip
"""Every phrase holds one of these, and looking for them is much faster than the pattern."""


def _may_match(text: str) -> bool:
    if " " not in text:
        return False
    if not text.isascii():  # some letters beyond ASCII match too
        return True
    small = text.lower()
    for mark in _MARKS:  # noqa: SIM110  any() takes three times as long, and every tool is asked for all marks
        if mark in small:
            return True
    return False


def first_order(text: str) -> str:
    """The first words of ``text`` that give a model orders; empty where there are none."""
    match = re.search(_SUSPICIOUS, text, re.IGNORECASE) if _may_match(text) else None
    return " ".join(match[0].split())[:80] if match else ""


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """The first such phrase of each string that a model sees."""
    for each in tool.visible if _may_match(tool.words) else ():
        match = re.search(_SUSPICIOUS, each.text, re.IGNORECASE) if _may_match(each.text) else None
        if match:
            words = " ".join(match[0].split())
            message = f"{each.what} gives the model orders: '{words[:80]}'"
            yield Diagnostic(
                codes.SUSPICIOUS_WORDS, message, each.place(tool.source, match[0]),
                "say what the tool does; how a model behaves is for its own instructions",
            )  # fmt: skip
