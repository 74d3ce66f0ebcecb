"""Phrases that texts use to instruct a model, taken from attacks."""

from __future__ import annotations

import re
from typing import Final

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
"""One phrase per line. Continuation lines are indented. A space matches any space and punctuation between words."""

_JOINED: Final = _PHRASES.strip().replace("\n    ", "").replace("\n", "|")
_SUSPICIOUS: Final = rf"\b(?:{_JOINED})\b".replace(" ", r"\W{1,3}")  # compiled if a mark is found: start-up time
_MARKS: Final = (
    "ignore", "disregard", "forget", "override", "bypass", "user", "tool", "prompt", "instruction", "exfiltrate",
    "now", "~/",
)  # fmt: skip
"""Words, one of which occurs in every phrase. Searching for them is much faster than matching the pattern."""


def may_contain_instruction(text: str) -> bool:
    """Return whether ``find_instruction`` may find something. It is much faster."""
    if " " not in text:
        return False
    if not text.isascii():  # some non-ASCII letters match too
        return True
    small = text.lower()
    for mark in _MARKS:  # noqa: SIM110  any() takes three times as long, and this tests all marks for every tool
        if mark in small:
            return True
    return False


def find_instruction(text: str) -> re.Match[str] | None:
    """Return the first instruction to a model in ``text``."""
    return re.search(_SUSPICIOUS, text, re.IGNORECASE) if may_contain_instruction(text) else None


def first_instruction(text: str) -> str:
    """Return the first words of ``text`` that are instructions to a model, or an empty string."""
    match = find_instruction(text)
    return " ".join(match[0].split())[:80] if match else ""
