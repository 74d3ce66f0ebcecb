"""Every code that a finding of the compiler can have, declared once.

0xx: the file itself. 1xx: its structure. 2xx: names and words. 3xx: parameters. 4xx: backends. 5xx: sandboxes.
6xx: secrets. 7xx: what providers take. 8xx: tests, annotations and the life of a tool. 9xx: policies. A number is
never given another meaning; where one number has several declarations, they are sides of one matter, and findings
tell them apart by their message.
"""

from __future__ import annotations

from typing import Final

from toolc.diagnostics import Code, Severity


def _error(number: str, summary: str) -> Code:
    return Code(number, Severity.ERROR, summary)


def _warning(number: str, summary: str) -> Code:
    return Code(number, Severity.WARNING, summary)


def _selectable(number: str, summary: str) -> Code:
    """A warning that is off until it is selected."""
    return Code(number, Severity.WARNING, summary, on=False)


SYNTAX: Final = _error("TC001", "the file is not valid YAML or TOML")
DUPLICATE_KEY: Final = _error("TC002", "a key stands twice in one map")
YAML_DISAGREEMENT: Final = _warning("TC003", "YAML 1.1 and YAML 1.2 read this value differently")
DECIMAL: Final = _error("TC004", "a decimal number where text is meant, such as a version without quotes")
DECIMAL_CHOICE: Final = _warning("TC004", "a decimal number among choices of text, or one whose last zero is lost")
ALIAS: Final = _error("TC005", "a merge key, an alias to itself, or aliases that expand beyond the limit")
CUSTOM_TAG: Final = _error("TC006", "a YAML tag that has no meaning in a spec")
NON_STRING_KEY: Final = _error("TC007", "a key that is not a string")
SEVERAL_DOCUMENTS: Final = _error("TC008", "several YAML documents in one file")
STRAY_CHARACTER: Final = _error(
    "TC009", "a character that cannot stand here: a tab, NUL or another control character"
)
BYTE_ORDER_MARK: Final = _warning("TC009", "a byte order mark, which other tools take for text")
CARRIAGE_RETURN: Final = _warning("TC009", "a script or Python file with Windows line ends")
NOT_JSON: Final = _error("TC010", "a value that JSON does not have: a date, a time, infinity or not-a-number")
BIG_INTEGER: Final = _error("TC011", "an integer that JSON readers cannot hold exactly")
TOO_BIG: Final = _error("TC012", "a file that is too large or too deep")
NOT_UTF8: Final = _error("TC013", "the file is not UTF-8")
LETTER_CASE: Final = _warning("TC014", "two files whose paths differ in letter case alone")

UNKNOWN_KEY: Final = _error("TC101", "a key that has no meaning here")
MISSING_KEY: Final = _error("TC102", "a key that must be there")
ONE_BACKEND: Final = _error("TC103", "a tool has exactly one backend")
UNSUPPORTED: Final = _error("TC104", "a format version or a feature that this version of toolc cannot run")
PROJECT_FILE: Final = _warning("TC104", "a project file, or a part of one, that has no effect")
DANGLING: Final = _error("TC105", "a reference to something that does not exist")
CALL_CIRCLE: Final = _error("TC106", "a composite or an agent that ends up calling itself")
CALL_DEPTH: Final = _error("TC107", "calls that stand too deep in each other")
BAD_VALUE: Final = _error("TC108", "a value of the wrong type, or one that is not allowed")
BAD_UNIT: Final = _error("TC109", "a duration or size without a known unit")
UNQUOTED_PLACEHOLDER: Final = _error("TC110", "a placeholder, or text that YAML takes for an alias, without quotes")
FILE: Final = _error("TC111", "a file that is missing, outside the spec's folder, or unreadable")
FUNCTION: Final = _error("TC112", "a Python file that lacks the function, or does not parse")
NOT_A_SPEC: Final = _warning("TC113", "a file that is no spec")
TEMPLATE: Final = _error("TC114", "a template that cannot be read")

NAME: Final = _error("TC201", "a name that providers refuse")
DUPLICATE_NAME: Final = _error("TC203", "two tools of one name")
SIMILAR_NAME: Final = _warning("TC203", "two tools whose names a model can take for each other")
DESCRIPTION: Final = _warning("TC204", "a description that is missing, or too short to help a model")
LONG_DESCRIPTION: Final = _selectable("TC204", "a description that is longer than some providers take")
LABEL: Final = _selectable("TC208", "a tool without a label for people")
SIMILAR_DESCRIPTION: Final = _warning("TC209", "two tools with nearly the same description")
HIDDEN_TEXT: Final = _error("TC210", "a character in words for a model that people cannot see")
LOOKALIKE: Final = _warning("TC210", "a word that mixes letters of two scripts that look alike")
SUSPICIOUS_WORDS: Final = _warning("TC211", "words that give the model orders instead of describing the tool")
MARKUP: Final = _warning("TC213", "role tags, escape sequences, comments or encoded blobs in words for a model")
FOREIGN_URL: Final = _selectable("TC214", "a URL in words for a model")

PARAMETER_DESCRIPTION: Final = _selectable("TC301", "a parameter without a description")
PROSE_ENUM: Final = _warning("TC303", "a closed set of values in words, but no enum")
DEFAULT: Final = _error("TC304", "a default that its own schema refuses")
REQUIRED_DEFAULT: Final = _selectable("TC305", "a parameter that is required and has a default")
REQUIRED_UNKNOWN: Final = _error("TC306", "a required parameter that is not declared")
ARRAY_ITEMS: Final = _warning("TC307", "an array that does not say what its items are")
UNBOUNDED: Final = _selectable("TC308", "a parameter without a bound that reaches a command, a script or a URL")
SLOW_PATTERN: Final = _error("TC309", "a pattern that can take forever to match")
BAD_PATTERN: Final = _error("TC310", "a pattern that is not a regular expression")
PYTHON_PATTERN: Final = _warning("TC310", "a pattern that other languages read differently, or refuse")
FREE_FORM: Final = _warning("TC311", "an object parameter that does not say what it holds")
REMOTE_REF: Final = _error("TC316", "a $ref that points outside the schema")

SHELL_TEMPLATE: Final = _error("TC401", "an argument that would be read as shell code")
ONE_COMMAND: Final = _warning("TC402", "a script that is one command, which 'argv' runs without a shell")
LEADING_DASH: Final = _warning("TC403", "an argument that may start with '-' and be taken for an option")
NO_WORKSPACE: Final = _warning("TC404", "a parameter that names a file, in a tool that can reach none")
URL_TEMPLATE: Final = _error("TC405", "a URL whose host an argument decides")
ENCODED_TWICE: Final = _warning("TC405", "a value in a URL that is percent-encoded twice")
UNKNOWN_PARAMETER: Final = _error("TC406", "a template that names no parameter")
UNUSED_PARAMETER: Final = _warning("TC406", "a parameter that nothing uses")
ABSENT_PARAMETER: Final = _error("TC406", "a template that uses a parameter which may be absent")
BUILT_TEXT: Final = _warning("TC407", "SQL or JSON that is put together from text")
PLAIN_HTTP: Final = _warning("TC408", "a request over http, which anybody on the way can read and change")
UNMAPPED_STATUS: Final = _selectable("TC410", "an HTTP tool that does not say what its service's errors mean")
SIGNATURE: Final = _error("TC411", "a function whose signature does not take the parameters")
TEXT_AS_CODE: Final = _warning("TC411", "Python code that runs text as code: eval, exec or a shell")
STEP_ARGUMENTS: Final = _error("TC412", "a step whose arguments its tool would refuse")
CONDITION: Final = _error("TC413", "a condition of a step that names what is not there")

IMAGE_TAG: Final = _warning("TC501", "an image without a tag or digest")
IMAGE_LATEST: Final = _warning("TC502", "an image whose tag is 'latest'")
ANY_NETWORK: Final = _warning("TC503", "a tool that may connect to any public address")
NO_NETWORK: Final = _selectable("TC503", "a tool that says it deals with the outside world, and has no network")
WIDE_EGRESS: Final = _warning("TC504", "a destination that is a wildcard, an IP address or a metadata service")
READ_ONLY_WRITES: Final = _warning("TC505", "a tool that says it only reads, with a workspace it can write to")
MAY_BE_ROOT: Final = _selectable("TC506", "a tool that does not refuse to run as root")
LIMIT: Final = _error("TC507", "limits that cannot hold together")

SECRET: Final = _warning("TC601", "a secret in a spec or in a file of a tool")
SECRET_PLACE: Final = _error("TC602", "a secret that is named where its value would be seen")
MISPLACED_SECRET: Final = _warning("TC602", "a secret where a model, a process list or a log can see it")
UNDECLARED_SECRET: Final = _error("TC603", "a secret that is named and not declared")
UNUSED_SECRET: Final = _warning("TC603", "a secret that is declared and not used")
ENV_EXPANSION: Final = _warning("TC604", "a variable of the environment that is meant to be filled in from outside")

GEMINI_KEYWORD: Final = _selectable("TC701", "a schema keyword that Gemini does not take")
STRICT: Final = _warning("TC702", "parameters that OpenAI's strict mode cannot say as they are")
ROOT_CHOICE: Final = _warning("TC703", "a choice between whole sets of parameters, which providers refuse")
SCHEMA_TYPE: Final = _error("TC704", "a schema that is not JSON Schema 2020-12")
LOSSY: Final = _selectable("TC705", "a schema that a provider reads in another way")

NO_TEST: Final = _selectable("TC801", "a tool without a test and without an example")
EXAMPLE: Final = _error("TC802", "an example or test whose arguments the schema refuses")
NO_REPLACEMENT: Final = _warning("TC803", "a deprecation that does not say what to use instead")
CONTRADICTION: Final = _warning("TC805", "an annotation that contradicts the tool's name or another annotation")
NO_ANNOTATION: Final = _selectable("TC805", "a tool that does not say whether it only reads, or destroys")
UNUSED_SUPPRESSION: Final = _warning("TC807", "a comment that ignores what is not there, or cannot be ignored")
NO_REASON: Final = _warning("TC808", "a comment that ignores a finding without saying which or why")

POLICY_LIMITS: Final = _error("TC901", "a limit above what a policy allows")
POLICY_HOSTS: Final = _error("TC902", "a destination that a policy does not allow")
POLICY_IMAGES: Final = _error("TC903", "an image that a policy does not allow")
POLICY_REQUIRE: Final = _error("TC904", "something that a policy requires and a tool does not say")
POLICY_BACKENDS: Final = _error("TC905", "a kind of backend that a policy does not allow")
POLICY_EXPOSE: Final = _error("TC906", "a secret that is exposed in a way that a policy does not allow")
POLICY_WORKSPACE: Final = _error("TC907", "a workspace of a mode that a policy does not allow")
POLICY_ISOLATION: Final = _error("TC908", "a sandbox that is weaker than a policy allows")
POLICY_LIFETIME: Final = _error("TC909", "a sandbox that lives longer than a policy allows")

ALL: Final[tuple[Code, ...]] = tuple(value for value in dict(globals()).values() if isinstance(value, Code))
