"""The keys of the project file. ``toolc.compiler.project`` reads them into types of its own."""

from typing import ClassVar, Final, Literal

from toolc.dataclass import dataclass, field
from toolc.model.spec import keys
from toolc.model.spec.policy import Policy

HOST: Final = r"^[a-z0-9-]+(\.[a-z0-9-]+)*$"
"""The pattern of a host in ``lint.hosts``."""

_CODES: Final = keys.list_of(keys.matching("^TC[0-9]{0,3}$"))
_TOKENS: Final = keys.integer(1, 10_000_000, is_fixed=True)
_NAMES: Final = keys.list_of(keys.TEXT)


class TokenBudgets:
    """How many tokens definitions may have, as ``toolc list --tokens`` estimates (TC707)."""

    tool: ClassVar = keys.Key(_TOKENS)
    """The budget of each tool.

    Example: 500
    """
    toolset: ClassVar = keys.Key(_TOKENS)
    """The budget of each toolset.

    Example: 3000
    """
    registry: ClassVar = keys.Key(_TOKENS)
    """The budget of all tools together.

    Example: 20000
    """


class LintKeys:
    """The findings to report."""

    select: ClassVar = keys.Key(_CODES)
    """Report only these codes or prefixes of codes, including those that are off by default.

    Example: [TC2]
    """
    ignore: ClassVar = keys.Key(_CODES)
    """Do not report these codes. Errors cannot be ignored.

    Example: [TC204]
    """
    severity: ClassVar = keys.Key(keys.map_of(keys.choice("error", "warning", "off", is_fixed=True), "^TC[0-9]{0,3}$"))
    """The severity by code. It turns on a code that is off by default.

    Example: {TC408: error, TC204: "off"}
    """
    hosts: ClassVar = keys.Key(keys.list_of(keys.matching(HOST, "a host name in lower case")))
    """Hosts, including their subdomains, whose URLs are allowed in descriptions (TC214).

    Example: [docs.example.com]
    """
    max_tokens: ClassVar = keys.Key(keys.map_with(TokenBudgets))
    """Token budgets.

    Example: {tool: 500}
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSettings:
    """Who may change what ``toolc diff`` accepts. Only the file in the base of a review is read.

    With ``accept_from: base``, acceptances and relaxed settings that only the head has have no effect.

    Instead of: approvers: remove it: the rules of the code host decide who approves; see
        docs/guides/continuous-integration.md#who-approves
    """

    accept_from: Literal["base", "head"] = field(
        default="base", metadata=keys.key(keys.choice("base", "head", is_fixed=True))
    )
    """``head``: what a change accepts and relaxes applies to the change itself: the code host protects these files.

    Example: head
    """


class ProjectKeys:
    """The keys of the project file: settings for all specs below its folder."""

    defaults: ClassVar = keys.Key(keys.Kind("defaults"))
    """Default values of tools: maps are merged, lists are replaced.

    Example: {sandbox: {limits: {timeout: 20s}}}
    """
    vars: ClassVar = keys.Key(keys.map_of(keys.FIELD, "^[A-Za-z_][A-Za-z0-9_]{0,63}$"))
    """Constants that specs can use as ``{{ vars.name }}``.

    Example: {base_url: "https://api.example.com"}
    """
    toolsets: ClassVar = keys.Key(keys.map_of(_NAMES))
    """Toolsets: names for groups of tools.

    Example: {readers: [get_record, list_records]}
    """
    builtin: ClassVar = keys.Key(_NAMES)
    """Built-in tools of toolc to compile with the specs.

    Example: [calculator]
    """
    lint: ClassVar = keys.Key(keys.map_with(LintKeys))
    """The findings to report.

    Example: {ignore: [TC204]}
    """
    review: ClassVar = keys.Key(keys.map_with(ReviewSettings))
    """Who may change what ``toolc diff`` accepts.

    Example: {accept_from: head}
    """
    exclude: ClassVar = keys.Key(_NAMES)
    """Files that are not specs: patterns of paths relative to this file.

    Example: ["vendor/**"]
    """
    out: ClassVar = keys.Key(keys.TEXT)
    """The output folder of ``toolc build``, relative to this file.

    Example: build/tools
    """
    providers: ClassVar = keys.Key(keys.JSON)
    """Reserved: this version of toolc does not read it."""
    policy: ClassVar = keys.Key(keys.map_with(Policy))
    """The policy for all tools below this file.

    Example: {lifetime: [call]}
    """
