"""Every code that a finding of the compiler can have, declared once.

0xx: the file itself. 1xx: its structure. 2xx: names and words. 3xx: parameters. 4xx: backends.
8xx: examples and tests. A number is never given another meaning; where one number has several
declarations, they are sides of one matter, and findings tell them apart by their message.
"""

from __future__ import annotations

from typing import Final

from toolc.diagnostics import Code, Severity


def _error(number: str, summary: str) -> Code:
    return Code(number, Severity.ERROR, summary)


def _warning(number: str, summary: str) -> Code:
    return Code(number, Severity.WARNING, summary)


SYNTAX: Final = _error("TC001", "the file is not valid YAML or TOML")
DUPLICATE_KEY: Final = _error("TC002", "a key stands twice in one map")
YAML_DISAGREEMENT: Final = _warning("TC003", "YAML 1.1 and YAML 1.2 read this value differently")
ALIAS: Final = _error("TC005", "a merge key, an alias to itself, or aliases that expand beyond the limit")
CUSTOM_TAG: Final = _error("TC006", "a YAML tag that has no meaning in a spec")
NON_STRING_KEY: Final = _error("TC007", "a key that is not a string")
SEVERAL_DOCUMENTS: Final = _error("TC008", "several YAML documents in one file")
STRAY_CHARACTER: Final = _error(
    "TC009", "a character that cannot stand here: a tab, NUL or another control character"
)
BYTE_ORDER_MARK: Final = _warning("TC009", "a byte order mark, which other tools take for text")
NOT_JSON: Final = _error("TC010", "a value that JSON does not have: a date, a time, infinity or not-a-number")
BIG_INTEGER: Final = _error("TC011", "an integer that JSON readers cannot hold exactly")
TOO_BIG: Final = _error("TC012", "a file that is too large or too deep")
NOT_UTF8: Final = _error("TC013", "the file is not UTF-8")

UNKNOWN_KEY: Final = _error("TC101", "a key that has no meaning here")
MISSING_KEY: Final = _error("TC102", "a key that must be there")
ONE_BACKEND: Final = _error("TC103", "a tool has exactly one backend")
UNSUPPORTED: Final = _error("TC104", "a format version or a feature that this version of toolc cannot run")
PROJECT_FILE: Final = _warning("TC104", "a project file that says what this version of toolc does not read yet")
DANGLING: Final = _error("TC105", "a reference to something that does not exist")
BAD_VALUE: Final = _error("TC108", "a value of the wrong type, or one that is not allowed")
BAD_UNIT: Final = _error("TC109", "a duration or size without a known unit")
UNQUOTED_PLACEHOLDER: Final = _error("TC110", "a placeholder, or text that YAML takes for an alias, without quotes")
FILE: Final = _error("TC111", "a file that is missing, outside the spec's folder, or unreadable")
FUNCTION: Final = _error("TC112", "a Python file that lacks the function, or does not parse")
NO_SPECS: Final = _error("TC113", "no specs where some were expected")
NOT_A_SPEC: Final = _warning("TC113", "a file that is no spec")
TEMPLATE: Final = _error("TC114", "a template that cannot be read")

NAME: Final = _error("TC201", "a name that providers refuse")
DUPLICATE_NAME: Final = _error("TC203", "two tools of one name")
DESCRIPTION: Final = _warning("TC204", "a description that is missing, or too short or too long to help a model")

DEFAULT: Final = _error("TC304", "a default that its own schema refuses")
REQUIRED_DEFAULT: Final = _error("TC305", "a parameter that is required and has a default")
REQUIRED_UNKNOWN: Final = _error("TC306", "a required parameter that is not declared")
ARRAY_ITEMS: Final = _warning("TC307", "an array that does not say what its items are")
BAD_PATTERN: Final = _error("TC310", "a pattern that is not a regular expression")
REMOTE_REF: Final = _error("TC316", "a $ref that points outside the schema")

SHELL_TEMPLATE: Final = _error("TC401", "an argument that would be read as shell code")
LEADING_DASH: Final = _warning("TC403", "an argument that may start with '-' and be taken for an option")
UNKNOWN_PARAMETER: Final = _error("TC406", "a template that names no parameter")
UNUSED_PARAMETER: Final = _warning("TC406", "a parameter that nothing uses")
ABSENT_PARAMETER: Final = _error("TC406", "a template that uses a parameter which may be absent")
SIGNATURE: Final = _error("TC411", "a function whose signature does not take the parameters")

LIMIT: Final = _error("TC507", "limits that cannot hold together")

SCHEMA_TYPE: Final = _error("TC704", "a schema that is not JSON Schema 2020-12")

EXAMPLE: Final = _error("TC802", "an example or test whose arguments the schema refuses")

ALL: Final[tuple[Code, ...]] = tuple(value for value in dict(globals()).values() if isinstance(value, Code))
