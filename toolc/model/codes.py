"""All codes that a finding of the compiler can have.

0xx: the file itself. 1xx: its structure. 2xx: names and texts. 3xx: parameters. 4xx: backends. 5xx: sandboxes. 6xx:
secrets. 7xx: providers. 8xx: tests, annotations and deprecation. 9xx: policies. The meaning of a number never
changes. Codes about the same subject can share a number, and each has its own slug. The page of a number, in
``toolc/data/rules``, has the title of each code.
"""

from typing import Final

from toolc.model.diagnostics import Code, Severity


def _error(number: str, slug: str) -> Code:
    return Code(number, Severity.ERROR, slug=slug)


def _warning(number: str, slug: str) -> Code:
    return Code(number, Severity.WARNING, slug=slug)


def _selectable(number: str, slug: str) -> Code:
    """Return a warning that is reported only if the user selects it."""
    return Code(number, Severity.WARNING, enabled=False, slug=slug)


SYNTAX: Final = _error("TC001", "invalid-syntax")
DUPLICATE_KEY: Final = _error("TC002", "duplicate-key")
YAML_DISAGREEMENT: Final = _warning("TC003", "ambiguous-yaml-value")
DECIMAL: Final = _error("TC004", "unquoted-decimal")
DECIMAL_CHOICE: Final = _warning("TC004", "unquoted-decimal-choice")
ALIAS: Final = _error("TC005", "invalid-alias")
CUSTOM_TAG: Final = _error("TC006", "custom-yaml-tag")
NON_STRING_KEY: Final = _error("TC007", "non-string-key")
SEVERAL_DOCUMENTS: Final = _error("TC008", "multiple-documents")
STRAY_CHARACTER: Final = _error("TC009", "control-character")
BYTE_ORDER_MARK: Final = _warning("TC009", "byte-order-mark")
CARRIAGE_RETURN: Final = _warning("TC009", "windows-line-endings")
NOT_JSON: Final = _error("TC010", "value-not-in-json")
BIG_INTEGER: Final = _error("TC011", "integer-too-large")
TOO_BIG: Final = _error("TC012", "file-too-large")
NOT_UTF8: Final = _error("TC013", "not-utf-8")
LETTER_CASE: Final = _warning("TC014", "case-conflict")
INTERNAL_ERROR: Final = _error("TC015", "internal-error")
TOO_MANY_STEPS: Final = _error("TC016", "too-many-steps")

UNKNOWN_KEY: Final = _error("TC101", "unknown-key")
MISSING_KEY: Final = _error("TC102", "missing-key")
ONE_BACKEND: Final = _error("TC103", "backend-count")
UNSUPPORTED: Final = _error("TC104", "unsupported-version")
PROJECT_FILE: Final = _warning("TC104", "ignored-project-setting")
DANGLING: Final = _error("TC105", "undefined-reference")
RECURSIVE_CALL: Final = _error("TC106", "recursive-call")
CALL_DEPTH: Final = _error("TC107", "calls-too-deep")
BAD_VALUE: Final = _error("TC108", "invalid-value")
BAD_UNIT: Final = _error("TC109", "invalid-unit")
UNQUOTED_PLACEHOLDER: Final = _error("TC110", "unquoted-placeholder")
FILE: Final = _error("TC111", "invalid-file")
FUNCTION: Final = _error("TC112", "missing-function")
NOT_A_SPEC: Final = _warning("TC113", "not-a-spec")
TEMPLATE: Final = _error("TC114", "invalid-template")

NAME: Final = _error("TC201", "invalid-name")
DUPLICATE_NAME: Final = _error("TC203", "duplicate-tool-name")
SIMILAR_NAME: Final = _warning("TC203", "similar-tool-names")
DESCRIPTION: Final = _warning("TC204", "short-description")
LONG_DESCRIPTION: Final = _selectable("TC204", "long-description")
UNINFORMATIVE: Final = _warning("TC204", "uninformative-description")
LABEL: Final = _selectable("TC208", "missing-label")
HIDDEN_TEXT: Final = _error("TC210", "invisible-character")
LOOKALIKE: Final = _warning("TC210", "mixed-scripts")
SUSPICIOUS_WORDS: Final = _warning("TC211", "instructions-to-model")
MARKUP: Final = _warning("TC213", "markup-in-model-text")
FOREIGN_URL: Final = _selectable("TC214", "url-in-model-text")

PARAMETER_DESCRIPTION: Final = _selectable("TC301", "missing-parameter-description")
REPEATED_NAME: Final = _selectable("TC301", "parameter-description-repeats-name")
PROSE_ENUM: Final = _warning("TC303", "enum-in-prose")
DEFAULT: Final = _error("TC304", "invalid-default")
NULL_DEFAULT: Final = _warning("TC304", "null-default")
REQUIRED_DEFAULT: Final = _selectable("TC305", "required-with-default")
REQUIRED_UNKNOWN: Final = _error("TC306", "undeclared-required-parameter")
ARRAY_ITEMS: Final = _warning("TC307", "missing-array-items")
UNBOUNDED: Final = _selectable("TC308", "unbounded-parameter")
SLOW_PATTERN: Final = _error("TC309", "slow-pattern")
BAD_PATTERN: Final = _error("TC310", "invalid-pattern")
PYTHON_PATTERN: Final = _warning("TC310", "non-portable-pattern")
FREE_FORM: Final = _warning("TC311", "free-form-object")
UNKNOWN_FORMAT: Final = _warning("TC312", "unknown-format")
REMOTE_REF: Final = _error("TC316", "remote-reference")

SHELL_TEMPLATE: Final = _error("TC401", "shell-injection")
CALLER_CODE: Final = _error("TC401", "undeclared-caller-code")
ONE_COMMAND: Final = _warning("TC402", "script-with-one-command")
LEADING_DASH: Final = _warning("TC403", "argument-as-option")
NEGATIVE_NUMBER: Final = _warning("TC403", "negative-number-as-option")
NO_WORKSPACE: Final = _warning("TC404", "path-without-workspace")
URL_TEMPLATE: Final = _error("TC405", "host-from-argument")
ENCODED_TWICE: Final = _warning("TC405", "encoded-twice")
UNKNOWN_PARAMETER: Final = _error("TC406", "unknown-parameter")
UNUSED_PARAMETER: Final = _warning("TC406", "unused-parameter")
ABSENT_PARAMETER: Final = _error("TC406", "optional-parameter-in-template")
BUILT_TEXT: Final = _warning("TC407", "text-built-from-arguments")
PLAIN_HTTP: Final = _warning("TC408", "unencrypted-http")
UNMAPPED_STATUS: Final = _selectable("TC410", "unmapped-http-errors")
SIGNATURE: Final = _error("TC411", "signature-mismatch")
TEXT_AS_CODE: Final = _warning("TC411", "text-run-as-code")
STEP_ARGUMENTS: Final = _error("TC412", "invalid-step-arguments")
CONDITION: Final = _error("TC413", "invalid-condition")
MISSPELLED_PLACEHOLDER: Final = _error("TC414", "misspelled-placeholder")
PLACEHOLDER_IN_CODE: Final = _warning("TC414", "placeholder-in-code")
UNLISTED_FILE: Final = _error("TC415", "unlisted-file")
MISSING_PACKAGE: Final = _error("TC415", "missing-package")
UNQUOTED_ARGUMENT: Final = _warning("TC416", "unquoted-argument")
WIDER_PARAMETERS: Final = _warning("TC417", "wider-than-server")

IMAGE_TAG: Final = _warning("TC501", "image-without-tag")
IMAGE_LATEST: Final = _warning("TC502", "image-tag-latest")
ANY_NETWORK: Final = _warning("TC503", "unrestricted-network")
NO_NETWORK: Final = _selectable("TC503", "open-world-without-network")
WIDE_EGRESS: Final = _warning("TC504", "broad-destination")
READ_ONLY_WRITES: Final = _warning("TC505", "read-only-tool-can-write")
MAY_BE_ROOT: Final = _selectable("TC506", "may-run-as-root")
LIMIT: Final = _error("TC507", "contradictory-limits")

SECRET: Final = _warning("TC601", "literal-secret")
SECRET_PLACE: Final = _error("TC602", "secret-in-unsafe-place")
MISPLACED_SECRET: Final = _warning("TC602", "exposed-secret")
UNDECLARED_SECRET: Final = _error("TC603", "undeclared-secret")
UNUSED_SECRET: Final = _warning("TC603", "unused-secret")
ENV_EXPANSION: Final = _warning("TC604", "unexpanded-variable")
CREDENTIAL: Final = _error("TC605", "literal-credential")

GEMINI_KEYWORD: Final = _selectable("TC701", "unsupported-by-gemini")
STRICT: Final = _warning("TC702", "strict-mode-change")
ROOT_CHOICE: Final = _warning("TC703", "choice-at-root")
SCHEMA_TYPE: Final = _error("TC704", "invalid-json-schema")
LOSSY: Final = _selectable("TC705", "lossy-schema")
TOKEN_BUDGET: Final = _warning("TC707", "token-budget-exceeded")
MCP_HEADER: Final = _warning("TC708", "invalid-mcp-header")
LONG_NAME: Final = _warning("TC709", "no-room-for-prefix")
REFUSED: Final = _error("TC710", "refused-definition")
FAILED_CONVERSION: Final = _warning("TC710", "failed-conversion")

NO_TEST: Final = _selectable("TC801", "untested-tool")
EXAMPLE: Final = _error("TC802", "invalid-example")
NO_REPLACEMENT: Final = _warning("TC803", "deprecation-without-replacement")
CONTRADICTION: Final = _warning("TC805", "contradictory-annotation")
NO_ANNOTATION: Final = _selectable("TC805", "missing-annotation")
UNUSED_SUPPRESSION: Final = _warning("TC807", "unused-suppression")
NO_REASON: Final = _warning("TC808", "suppression-without-reason")

POLICY_LIMITS: Final = _error("TC901", "policy-limit")
POLICY_HOSTS: Final = _error("TC902", "policy-host")
POLICY_IMAGES: Final = _error("TC903", "policy-image")
POLICY_REQUIRE: Final = _error("TC904", "policy-required-field")
POLICY_BACKENDS: Final = _error("TC905", "policy-backend")
POLICY_EXPOSE: Final = _error("TC906", "policy-secret-exposure")
POLICY_WORKSPACE: Final = _error("TC907", "policy-workspace")
POLICY_ISOLATION: Final = _error("TC908", "policy-isolation")
POLICY_LIFETIME: Final = _error("TC909", "policy-lifetime")

ALL: Final[tuple[Code, ...]] = tuple(value for value in dict(globals()).values() if isinstance(value, Code))

RETIRED: Final = frozenset({"TC209"})
"""Numbers of checks that no longer exist. They are never reused. TC209 was about similar descriptions."""
