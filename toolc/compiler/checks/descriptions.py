"""Checks of descriptions: TC204 (length and content) and TC301 (parameters)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.checks.helpers import has_keyword, parameters, text_of
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.text_analysis.informative_words import name_words, new_words, repeats_name
from toolc.document.map_reader import first_line
from toolc.document.suggestions import has_misspelled_key
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic

SHORTEST: Final = 12
LONGEST: Final = 1024
INFORMATIVE_NAME: Final = 4
"""A name with this number of words, not counting generic words, can be sufficient without a description.

``SHORTEST`` is the length of two short words, and ``LONGEST`` is OpenAI's limit, both in characters.
"""

_HINT: Final = "describe what it does, when to use it and when not to; a model selects tools by this text"

_CONTENT_HINT: Final = (
    "say what it acts on, what it returns, when to use it and when not to; a model selects tools by this text"
)


@tool_check("TC204", needs={"description", "name"})
def check_description_content(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report a description that adds nothing to the name of the tool, such as "Search for information.".

    Of 200 descriptions of public tools, it reports 4 of the 170 good ones and 22 of the 30 poor ones. A test measures
    this on ``tests/corpus/descriptions.json``.
    """
    spec = tool.spec
    if len(spec.description.strip()) < SHORTEST or new_words(spec.name, spec.description):
        return
    if len(name_words(spec.name)) < INFORMATIVE_NAME:
        message = f"this description adds nothing to the name '{spec.name}'"
        yield Diagnostic(codes.UNINFORMATIVE, message, tool.span("description"), _CONTENT_HINT)


@tool_check("TC204", needs={"description"})
def check_description_length(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report a description that is missing, too short or too long.

    Fewer than 12 characters say little more than the name. OpenAI's API has rejected descriptions of more than 1,024
    characters. Most longer descriptions work, so that finding is off by default.
    """
    length = len(tool.spec.description.strip())
    if length == 0 and has_misspelled_key(tool.node, "description"):  # reported as an unknown key
        return
    if length == 0:
        where = tool.span("description") if tool.node.get("description") else tool.span("name")
        yield Diagnostic(codes.DESCRIPTION, "this tool has no description", where, _HINT)
    elif length < SHORTEST:
        message = f"a description of {length} characters is too short for a model"
        yield Diagnostic(codes.DESCRIPTION, message, tool.span("description"), _HINT)
    elif length > LONGEST:
        message = f"a description of {length} characters is too long for some providers, which accept {LONGEST}"
        yield Diagnostic(codes.LONG_DESCRIPTION, message, tool.span("description"), "shorten it")


@tool_check("TC301", needs={"parameters"})
def check_parameter_descriptions(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each parameter without a description, or with one that only repeats its name.

    Both findings are off by default, because 45 of 939 parameters in a public catalog lack a description, and 569 of
    27,263 in a public benchmark of function calls repeat the name.
    """
    for entry, schema in parameters(tool):
        text, written = text_of(schema, "description").strip(), schema.get("description")
        says_more = has_keyword(schema, "enum", "const", "format", "examples")
        if written and not says_more and repeats_name(entry.key, text):
            message = f"the description of '{entry.key}' only repeats its name"
            hint = "describe its meaning, format or unit, with an example"
            yield Diagnostic(codes.REPEATED_NAME, message, first_line(written.span), hint)
        if not text and not has_keyword(schema, "$ref"):
            message = f"the parameter '{entry.key}' has no description"
            hint = "describe its meaning, format or unit, with an example"
            yield Diagnostic(codes.PARAMETER_DESCRIPTION, message, entry.key_span, hint)
