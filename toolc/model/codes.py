"""All codes that a finding of the compiler can have.

0xx: the file itself. 1xx: its structure. 2xx: names and texts. 3xx: parameters. 4xx: backends. 5xx: sandboxes. 6xx:
secrets. 7xx: providers. 8xx: tests, annotations and deprecation. 9xx: policies. The meaning of a number never
changes. Codes about the same subject can share a number: each has its own name and slug. Pages: ``toolc/data/rules``.
"""

from typing import Final

from toolc.model.diagnostics import Code, Severity


def _error(number: str, slug: str, name: str) -> Code:
    return Code(number, Severity.ERROR, name, slug=slug)


def _warning(number: str, slug: str, name: str) -> Code:
    return Code(number, Severity.WARNING, name, slug=slug)


def _selectable(number: str, slug: str, name: str) -> Code:
    """Return a warning that is reported only if the user selects it."""
    return Code(number, Severity.WARNING, name, enabled=False, slug=slug)


SYNTAX: Final = _error("TC001", "invalid-syntax", "invalid YAML or TOML syntax")
DUPLICATE_KEY: Final = _error("TC002", "duplicate-key", "duplicate key in a mapping")
YAML_DISAGREEMENT: Final = _warning(
    "TC003", "ambiguous-yaml-value", "value that YAML 1.1 and YAML 1.2 read differently"
)
DECIMAL: Final = _error(
    "TC004", "unquoted-decimal", "decimal number where text is expected, such as a version without quotes"
)
DECIMAL_CHOICE: Final = _warning(
    "TC004", "unquoted-decimal-choice", "decimal number in a list of text values, or with a trailing zero that is lost"
)
ALIAS: Final = _error("TC005", "invalid-alias", "merge key, recursive alias, or aliases that expand beyond the limit")
CUSTOM_TAG: Final = _error("TC006", "custom-yaml-tag", "YAML tag that has no meaning in a spec")
NON_STRING_KEY: Final = _error("TC007", "non-string-key", "key that is not a string")
SEVERAL_DOCUMENTS: Final = _error("TC008", "multiple-documents", "several YAML documents in one file")
STRAY_CHARACTER: Final = _error(
    "TC009", "control-character", "tab, NUL or another control character that is not allowed here"
)
BYTE_ORDER_MARK: Final = _warning("TC009", "byte-order-mark", "byte order mark, which other tools read as text")
CARRIAGE_RETURN: Final = _warning("TC009", "windows-line-endings", "script or Python file with Windows line endings")
NOT_JSON: Final = _error(
    "TC010", "value-not-in-json", "value that JSON cannot represent, such as a date, a time, infinity or not-a-number"
)
BIG_INTEGER: Final = _error("TC011", "integer-too-large", "integer that JSON readers cannot represent exactly")
TOO_BIG: Final = _error("TC012", "file-too-large", "file that is too large or too deeply nested")
NOT_UTF8: Final = _error("TC013", "not-utf-8", "file that is not encoded in UTF-8")
LETTER_CASE: Final = _warning("TC014", "case-conflict", "two files whose paths differ only in letter case")
INTERNAL_ERROR: Final = _error("TC015", "internal-error", "file that triggers an internal error")
TOO_MANY_STEPS: Final = _error("TC016", "too-many-steps", "file that takes too many steps to check")

UNKNOWN_KEY: Final = _error("TC101", "unknown-key", "unknown key")
MISSING_KEY: Final = _error("TC102", "missing-key", "missing required key")
ONE_BACKEND: Final = _error("TC103", "backend-count", "tool without a backend, or with several")
UNSUPPORTED: Final = _error(
    "TC104", "unsupported-version", "format version or feature that this version of toolc does not support"
)
PROJECT_FILE: Final = _warning("TC104", "ignored-project-setting", "project file, or part of one, that has no effect")
DANGLING: Final = _error("TC105", "undefined-reference", "reference to something that does not exist")
RECURSIVE_CALL: Final = _error(
    "TC106", "recursive-call", "composite or agent that calls itself, directly or through other tools"
)
CALL_DEPTH: Final = _error("TC107", "calls-too-deep", "calls that are nested too deeply")
BAD_VALUE: Final = _error("TC108", "invalid-value", "value of the wrong type, or value that is not allowed")
BAD_UNIT: Final = _error("TC109", "invalid-unit", "duration or size without a known unit")
UNQUOTED_PLACEHOLDER: Final = _error(
    "TC110", "unquoted-placeholder", "placeholder without quotes, or text that YAML reads as an alias"
)
FILE: Final = _error("TC111", "invalid-file", "file that is missing, unreadable or outside the folder of the spec")
FUNCTION: Final = _error("TC112", "missing-function", "Python file that lacks the function or cannot be parsed")
NOT_A_SPEC: Final = _warning("TC113", "not-a-spec", "file that is not a spec")
TEMPLATE: Final = _error("TC114", "invalid-template", "template that cannot be parsed")

NAME: Final = _error("TC201", "invalid-name", "name that providers reject")
DUPLICATE_NAME: Final = _error("TC203", "duplicate-tool-name", "two tools with the same name")
SIMILAR_NAME: Final = _warning("TC203", "similar-tool-names", "two tools with names that a model can confuse")
DESCRIPTION: Final = _warning("TC204", "short-description", "description that is missing, or too short to help a model")
LONG_DESCRIPTION: Final = _selectable(
    "TC204", "long-description", "description that is longer than some providers accept"
)
UNINFORMATIVE: Final = _warning(
    "TC204", "uninformative-description", "description that adds nothing to the name of the tool"
)
LABEL: Final = _selectable("TC208", "missing-label", "tool without a label for users")
# TC209 was a check of similar descriptions. Its number is not used again.
HIDDEN_TEXT: Final = _error("TC210", "invisible-character", "invisible character in text that a model reads")
LOOKALIKE: Final = _warning("TC210", "mixed-scripts", "word that mixes letters of two scripts that look alike")
SUSPICIOUS_WORDS: Final = _warning(
    "TC211", "instructions-to-model", "text that gives the model orders instead of describing the tool"
)
MARKUP: Final = _warning(
    "TC213", "markup-in-model-text", "role tags, escape sequences, comments or encoded data in text that a model reads"
)
FOREIGN_URL: Final = _selectable("TC214", "url-in-model-text", "URL in text that a model reads")

PARAMETER_DESCRIPTION: Final = _selectable("TC301", "missing-parameter-description", "parameter without a description")
REPEATED_NAME: Final = _selectable(
    "TC301", "parameter-description-repeats-name", "parameter with a description that only repeats its name"
)
PROSE_ENUM: Final = _warning("TC303", "enum-in-prose", "description that lists the allowed values, but no enum")
DEFAULT: Final = _error("TC304", "invalid-default", "default value that does not match its schema")
NULL_DEFAULT: Final = _warning("TC304", "null-default", "default null where the schema does not allow null")
REQUIRED_DEFAULT: Final = _selectable("TC305", "required-with-default", "required parameter with a default")
REQUIRED_UNKNOWN: Final = _error("TC306", "undeclared-required-parameter", "required parameter that is not declared")
ARRAY_ITEMS: Final = _warning("TC307", "missing-array-items", "array without a schema for its items")
UNBOUNDED: Final = _selectable(
    "TC308", "unbounded-parameter", "parameter without a bound that is used in a command, a script or a URL"
)
SLOW_PATTERN: Final = _error("TC309", "slow-pattern", "pattern that can take exponential time to match")
BAD_PATTERN: Final = _error("TC310", "invalid-pattern", "pattern that is not a valid ECMA-262 regular expression")
PYTHON_PATTERN: Final = _warning(
    "TC310", "non-portable-pattern", "pattern that other languages reject with the 'u' flag"
)
FREE_FORM: Final = _warning("TC311", "free-form-object", "object parameter that does not declare its properties")
UNKNOWN_FORMAT: Final = _warning("TC312", "unknown-format", "unknown 'format', which is not checked")
REMOTE_REF: Final = _error("TC316", "remote-reference", "$ref that points outside the schema, or back to itself")

SHELL_TEMPLATE: Final = _error("TC401", "shell-injection", "argument that a shell would run as code")
CALLER_CODE: Final = _error("TC401", "undeclared-caller-code", "argument that runs as code, without 'runs_caller_code'")
ONE_COMMAND: Final = _warning(
    "TC402", "script-with-one-command", "script with a single command, which 'argv' runs without a shell"
)
LEADING_DASH: Final = _warning(
    "TC403", "argument-as-option", "argument that can start with '-' and be read as an option"
)
NO_WORKSPACE: Final = _warning(
    "TC404", "path-without-workspace", "parameter that names a file, in a tool without a workspace"
)
URL_TEMPLATE: Final = _error("TC405", "host-from-argument", "URL with a host that depends on an argument")
ENCODED_TWICE: Final = _warning("TC405", "encoded-twice", "value in a URL that is percent-encoded twice")
UNKNOWN_PARAMETER: Final = _error("TC406", "unknown-parameter", "template or script that names an unknown parameter")
UNUSED_PARAMETER: Final = _warning("TC406", "unused-parameter", "parameter that is not used")
ABSENT_PARAMETER: Final = _error(
    "TC406", "optional-parameter-in-template", "template that uses an optional parameter without a default"
)
BUILT_TEXT: Final = _warning(
    "TC407", "text-built-from-arguments", "SQL or JSON that is built by inserting arguments into text"
)
PLAIN_HTTP: Final = _warning("TC408", "unencrypted-http", "request over http, which can be read and changed on the way")
UNMAPPED_STATUS: Final = _selectable(
    "TC410", "unmapped-http-errors", "HTTP tool that does not map the errors of its service"
)
SIGNATURE: Final = _error("TC411", "signature-mismatch", "function signature that does not match the parameters")
TEXT_AS_CODE: Final = _warning(
    "TC411", "text-run-as-code", "Python code that runs text as code with eval, exec or a shell"
)
STEP_ARGUMENTS: Final = _error("TC412", "invalid-step-arguments", "step with arguments that its tool rejects")
CONDITION: Final = _error("TC413", "invalid-condition", "condition of a step that refers to an unknown name")
MISSPELLED_PLACEHOLDER: Final = _error(
    "TC414", "misspelled-placeholder", "placeholder in a form that is not supported here"
)
PLACEHOLDER_IN_CODE: Final = _warning(
    "TC414", "placeholder-in-code", "placeholder in code that is not a shell script, where it stays literal"
)
UNLISTED_FILE: Final = _error("TC415", "unlisted-file", "import of a Python file that is not listed under 'files'")
MISSING_PACKAGE: Final = _error("TC415", "missing-package", "import of a package that the tool does not install")
UNQUOTED_ARGUMENT: Final = _warning(
    "TC416", "unquoted-argument", "unquoted argument in a script, which the shell splits and expands"
)

IMAGE_TAG: Final = _warning("TC501", "image-without-tag", "image without a tag or digest")
IMAGE_LATEST: Final = _warning("TC502", "image-tag-latest", "image with the tag 'latest'")
ANY_NETWORK: Final = _warning("TC503", "unrestricted-network", "tool that may connect to any public address")
NO_NETWORK: Final = _selectable(
    "TC503", "open-world-without-network", "tool that declares 'open_world' but has no network"
)
WIDE_EGRESS: Final = _warning(
    "TC504", "broad-destination", "destination that is a wildcard, an IP address or a metadata service"
)
READ_ONLY_WRITES: Final = _warning("TC505", "read-only-tool-can-write", "read-only tool with a writable workspace")
MAY_BE_ROOT: Final = _selectable("TC506", "may-run-as-root", "tool that may run as root")
LIMIT: Final = _error("TC507", "contradictory-limits", "limits that contradict each other")

SECRET: Final = _warning("TC601", "literal-secret", "secret in a spec or in a file of a tool")
SECRET_PLACE: Final = _error(
    "TC602", "secret-in-unsafe-place", "secret placeholder in a place where its value would be visible"
)
MISPLACED_SECRET: Final = _warning("TC602", "exposed-secret", "secret that a model, a process list or a log can show")
UNDECLARED_SECRET: Final = _error("TC603", "undeclared-secret", "secret that is used but not declared")
UNUSED_SECRET: Final = _warning("TC603", "unused-secret", "secret that is declared but not used")
ENV_EXPANSION: Final = _warning(
    "TC604", "unexpanded-variable", "environment variable reference that toolc does not expand"
)
CREDENTIAL: Final = _error("TC605", "literal-credential", "literal credential in a spec")

GEMINI_KEYWORD: Final = _selectable("TC701", "unsupported-by-gemini", "schema keyword that Gemini does not accept")
STRICT: Final = _warning("TC702", "strict-mode-change", "parameters that a strict mode cannot represent unchanged")
ROOT_CHOICE: Final = _warning(
    "TC703", "choice-at-root", "choice between whole sets of parameters, which providers reject"
)
SCHEMA_TYPE: Final = _error("TC704", "invalid-json-schema", "schema that is not valid JSON Schema 2020-12")
LOSSY: Final = _selectable("TC705", "lossy-schema", "schema that a provider cannot represent exactly")
TOKEN_BUDGET: Final = _warning("TC707", "token-budget-exceeded", "definitions with more tokens than the project allows")
MCP_HEADER: Final = _warning("TC708", "invalid-mcp-header", "x-mcp-header that makes MCP clients refuse a tool")

NO_TEST: Final = _selectable("TC801", "untested-tool", "tool without a test and without an example")
EXAMPLE: Final = _error("TC802", "invalid-example", "example or test with arguments that the schema rejects")
NO_REPLACEMENT: Final = _warning(
    "TC803", "deprecation-without-replacement", "deprecation that does not name a replacement"
)
CONTRADICTION: Final = _warning(
    "TC805", "contradictory-annotation", "annotation that contradicts the name of the tool or another annotation"
)
NO_ANNOTATION: Final = _selectable(
    "TC805", "missing-annotation", "tool that does not declare whether it is read-only or destructive"
)
UNUSED_SUPPRESSION: Final = _warning(
    "TC807",
    "unused-suppression",
    "suppression comment without a matching finding, or for a finding that cannot be ignored",
)
NO_REASON: Final = _warning(
    "TC808", "suppression-without-reason", "suppression comment without codes or without a reason"
)

POLICY_LIMITS: Final = _error("TC901", "policy-limit", "limit above the maximum of a policy")
POLICY_HOSTS: Final = _error("TC902", "policy-host", "destination that a policy does not allow")
POLICY_IMAGES: Final = _error("TC903", "policy-image", "image that a policy does not allow")
POLICY_REQUIRE: Final = _error("TC904", "policy-required-field", "missing declaration that a policy requires")
POLICY_BACKENDS: Final = _error("TC905", "policy-backend", "backend kind that a policy does not allow")
POLICY_EXPOSE: Final = _error("TC906", "policy-secret-exposure", "secret exposure that a policy does not allow")
POLICY_WORKSPACE: Final = _error("TC907", "policy-workspace", "workspace mode that a policy does not allow")
POLICY_ISOLATION: Final = _error("TC908", "policy-isolation", "sandbox isolation weaker than a policy requires")
POLICY_LIFETIME: Final = _error("TC909", "policy-lifetime", "sandbox lifetime that a policy does not allow")

ALL: Final[tuple[Code, ...]] = tuple(value for value in dict(globals()).values() if isinstance(value, Code))
