"""The page of every number, by number: those of loading and decoding stand here, those of a check beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolc.compiler.checks import SET_CHECKS, TOOL_CHECKS
from toolc.compiler.rule import Rule
from toolc.compiler.rules import (
    aliases,
    array_items,
    bad_value,
    big_integer,
    dangling,
    decimal_text,
    default,
    duplicate_key,
    example,
    files,
    function,
    letter_case,
    limits,
    missing_key,
    name,
    non_string_key,
    not_a_spec,
    not_json,
    not_utf8,
    one_backend,
    pattern,
    remote_reference,
    required_default,
    required_unknown,
    schema,
    several_documents,
    signature,
    slow_pattern,
    stray_character,
    suppression_reason,
    syntax,
    tags,
    template,
    too_big,
    units,
    unknown_key,
    unquoted_placeholder,
    unsupported,
    unused_suppression,
    yaml_versions,
)

READING: Final[tuple[Rule, ...]] = (
    syntax.RULE,
    duplicate_key.RULE,
    yaml_versions.RULE,
    decimal_text.RULE,
    aliases.RULE,
    tags.RULE,
    non_string_key.RULE,
    several_documents.RULE,
    stray_character.RULE,
    not_json.RULE,
    big_integer.RULE,
    too_big.RULE,
    not_utf8.RULE,
    letter_case.RULE,
    unknown_key.RULE,
    missing_key.RULE,
    one_backend.RULE,
    unsupported.RULE,
    dangling.RULE,
    bad_value.RULE,
    units.RULE,
    unquoted_placeholder.RULE,
    files.RULE,
    function.RULE,
    not_a_spec.RULE,
    template.RULE,
    name.RULE,
    default.RULE,
    required_default.RULE,
    required_unknown.RULE,
    array_items.RULE,
    slow_pattern.RULE,
    pattern.RULE,
    remote_reference.RULE,
    signature.RULE,
    limits.RULE,
    schema.RULE,
    example.RULE,
    unused_suppression.RULE,
    suppression_reason.RULE,
)
"""What can be wrong before there is a tool to check. A new page is a file here and a name in this table."""

_CHECKING: Final[tuple[Rule, ...]] = (
    *(check.RULE for check in TOOL_CHECKS),
    *(check.RULE for check in SET_CHECKS),
)

RULES: Final[Mapping[str, Rule]] = {
    rule.number: rule for rule in sorted((*READING, *_CHECKING), key=lambda rule: rule.number)
}
"""Every page, in the order of the numbers."""
