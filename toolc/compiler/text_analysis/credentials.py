"""Find credentials in text by their names, forms and places, and hide them in findings.

The names and forms come from ``toolc.data.credential_rules``. Placeholders such as ``ghp_xxxx`` do not count, because
their entropy (Shannon, in bits per character) is too low. To hide a credential, each of its characters is replaced with
``*``, so that the text keeps its length and positions stay valid.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from toolc.compiler.text_analysis.long_runs import ALPHANUMERIC, character_table, has_long_run
from toolc.data import credential_rules as rules
from toolc.dataclass import dataclass, replace
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.source import SourceText
from toolc.model.text import lazy_re

Certainty: TypeAlias = Literal["certain", "possible"]
"""How certain a name is. With a ``possible`` name, such as ``key`` or ``sig``, only a random value is a credential."""

_WORD: Final = lazy_re(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NUMBER: Final = lazy_re(r"[+-]?[0-9]+(?:[.,_][0-9]+)*")
_PATH: Final = lazy_re(r"(?:file://|[A-Za-z]:\\|~?/|\.{1,2}/)[^\s]*")
_EXAMPLE_KEY: Final = lazy_re(r"[A-Za-z0-9+/_-]*EXAMPLE(?:KEY)?")
_SCHEME: Final = lazy_re(r"(?i)(?:apikey|basic|bearer|bot|digest|key|token)(?:\s+|$)(?:token=)?")
_UNEXPANDED: Final = lazy_re(r"\$\{\{.*\}\}|\$\{[^}]*\}|\$\(?[A-Za-z_]\w*\)?|%[A-Za-z_]\w*%|\$env:\w+")

_USERINFO: Final = r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://(?P<user>[^\s/:@{}\"']{0,100}):(?P<value>[^\s/@{}$<*\"']{1,200})@"
_PAIR: Final = r"(?i)\b(?:password|pwd|accountkey|sharedaccesskey|accesstoken)=(?P<value>[^;,&\s\"'{}()\[\]$<*]{4,200})"
_LOCAL: Final = lazy_re(r"[^@\s]{0,200}@(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/?#]|$)")

# A name that indicates a secret, and its value: `API_KEY=…`, `token: "…"`, `Bearer …`.
_NAMED: Final = (
    r"(?:(?:api[_-]?key|access[_-]?key|auth|credential|passwd|password|private[_-]?key|secret|token)['\"]?\s{0,4}[:=]\s{0,4}"
    r"(?:f?['\"])?(?:(?:Basic|Bearer)\s)?|\b(?:Basic|Bearer)\s)(?P<value>[A-Za-z0-9+/_=.-]{20,512})"
)
_EXAMPLE: Final = r"(?i)example|placeholder|your|dummy|changeme|redacted|\.\.\."

_RUN: Final = 16
"""The minimum length of the runs of ``Form.is_long``, and of a value that looks random."""
_RUN_CHARACTERS: Final = character_table(f"{ALPHANUMERIC}+=")
"""The characters of a value with a secret's name, except those that join names, as in a path."""
_MIN_BITS: Final = 3.0
"""The minimum bits per character of a value whose form identifies it as a secret. ``xxxx`` has 0."""
_MIN_BITS_NAMED: Final = 3.2
"""The minimum for a value that only its name identifies. Hexadecimal digits reach it, and words have no digits."""

_ORDINARY: Final = lazy_re("[A-Z]?[a-z]{3,11}|[A-Z]{4,8}")
"""Matches a part of a credential that could be an ordinary word or name. Other findings need such words."""

_MIN_PART: Final = 4
"""The minimum length of a part of a credential that is hidden wherever it occurs in findings.

A shorter part could be an ordinary word.
"""
_MIN_PREFIX: Final = 8
"""The minimum length of the beginning of a credential, in a message that was cut.

A shorter beginning could belong to an ordinary word.
"""
_PART: Final = lazy_re(r"[^\s\"'`,;:(){}\[\]<>=&?@]+")
_ASSIGNED: Final = lazy_re(
    r"""(?<![\w-])['"]?(?P<name>[A-Za-z][\w-]{0,60})['"]?[ \t]{0,8}[:=][ \t]{0,8}"""
    r"""(?P<value>"[^"\n]*"?|'[^'\n]*'?|[^\s,{}\[\]#|>&*"'][^\n,}\]#]*)"""
)
_ABOUT_CREDENTIALS: Final = "TC6"
"""The prefix of the codes about secrets, whose messages never contain a credential."""
_MAX_LINES: Final = 20
"""The maximum number of lines per finding that are searched for credentials. A message shows fewer lines."""
_UNREAD: Final = ("TC0", "TC104", "TC113")
"""The findings that may mean that a file was not decoded as a spec, so that no check has inspected its values."""


@dataclass(frozen=True, slots=True)
class SecretMatch:
    """The range ``start:end`` of a text that looks like a secret. ``kind`` is its name with an article."""

    kind: str
    start: int
    end: int


def credential_header(name: str) -> Certainty | None:
    """Like ``credential_name``, for a header. Any other header whose name ends with ``key`` is possible."""
    *_, before, last = ("", "", *(word.lower() for word in _WORD.findall(name)))
    return credential_name(name) or ("possible" if last == "key" and before not in rules.NOT_BEFORE_KEY else None)


@lru_cache(maxsize=4096)
def credential_name(name: str) -> Certainty | None:
    """Return whether a header, variable, field or parameter with this name holds a credential."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return None
    joined, last, before = "".join(words), words[-1], words[-2] if len(words) > 1 else ""
    is_position = last == "token" and before in rules.NOT_BEFORE_TOKEN
    if is_position or (joined.endswith("token") and joined.removesuffix("token") in rules.NOT_BEFORE_TOKEN):
        return None
    if joined in {"pwd", "oldpwd"}:  # the working directory
        return None
    if joined.endswith(rules.ENDS) or (last == "key" and before in rules.BEFORE_KEY) or (last == "pass" and before):
        return "certain"
    is_other_key = last == "key" and before in rules.NOT_BEFORE_KEY
    return "possible" if joined.endswith("accesskeyid") or (last in rules.POSSIBLE and not is_other_key) else None


def is_exempt(value: str) -> bool:
    """Return whether a value is not a credential, because it is a number, a boolean, a path or a published example."""
    value = value.strip()
    if not value or value.lower() in rules.WORDS or _NUMBER.fullmatch(value):
        return True
    if value in rules.EXAMPLES or _EXAMPLE_KEY.fullmatch(value):
        return True
    return bool(_PATH.fullmatch(value)) and not any(map(looks_random, re.split(r"[/\\.]", value)))


def without_scheme(value: str) -> str:
    """Return the value of an ``Authorization`` header without its scheme, such as ``Bearer``."""
    value = value.strip()
    match = _SCHEME.match(value)
    return value[match.end() :] if match else value


def literal_credential(value: str, certainty: Certainty) -> str:
    """Return the part of a value without placeholders that is a credential, or an empty string."""
    rest = without_scheme(value).strip()
    if is_exempt(rest) or is_exempt(value) or is_unexpanded(rest):
        return ""
    if certainty == "certain":
        return rest
    return next((each for each in re.split(r"[\s;,&=:\"']+", rest) if is_token(each)), "")


def is_unexpanded(value: str) -> bool:
    """Return whether a value is only a reference to an environment variable, which toolc does not expand."""
    return bool(_UNEXPANDED.fullmatch(value.strip()))


def unexpanded_name(value: str) -> str:
    """Return the name of the variable in a reference such as ``${API_KEY}``, or an empty string."""
    name = re.search(r"(?:(?:secrets|env|vars)[.:])?([A-Za-z_]\w*)", value) if is_unexpanded(value) else None
    return name[1] if name else ""


def is_token(value: str) -> bool:
    """Return whether a value looks like a credential in any place, because it has a known form or is random."""
    return not is_exempt(value) and (looks_random(value) or any(find_secrets(value)))


def credentials_in(text: str) -> Iterator[SecretMatch]:
    """Yield each password in the URLs and connection strings of a text."""
    for mark, pattern, kind in (("://", _USERINFO, "a password in a URL"), ("=", _PAIR, "a password")):
        for match in re.finditer(pattern, text) if mark in text else ():
            if not is_exempt(match["value"]) and not _LOCAL.match(text, match.start("value")):
                yield SecretMatch(kind, *match.span("value"))


def find_secrets(text: str) -> Iterator[SecretMatch]:
    """Yield each range of ``text`` that looks like a secret, in order. The run time is linear in its length."""
    is_long = has_long_run(text, _RUN_CHARACTERS, _RUN)
    matches = [*_known_forms(text, is_long=is_long), *(_named_secrets(text) if is_long else ())]
    matches.sort(key=lambda secret: (secret.start, -secret.end))
    end = 0
    for secret in matches:
        if secret.start >= end:
            yield secret
            end = secret.end


def _known_forms(text: str, *, is_long: bool) -> Iterator[SecretMatch]:
    for form in rules.FORMS:
        if (is_long or not form.is_long) and _contains_any(text, form.marks):
            for match in re.finditer(form.pattern, text):
                if match[0] not in rules.EXAMPLES and _is_random(match[0], _MIN_BITS):
                    yield SecretMatch(form.kind, match.start(), match.end())


def _contains_any(text: str, marks: tuple[str, ...]) -> bool:
    for mark in marks:  # noqa: SIM110  any() takes three times as long, and this runs ten times per file
        if mark in text:
            return True
    return False


def _named_secrets(text: str) -> Iterator[SecretMatch]:
    if not _contains_any(text.lower(), rules.MARKS):
        return
    for match in re.finditer(_NAMED, text, re.IGNORECASE):
        value = match["value"]
        if value in rules.EXAMPLES:
            continue
        if _is_mixed(value) and _is_random(value, _MIN_BITS_NAMED) and not re.search(_EXAMPLE, value):
            yield SecretMatch("a secret", *match.span("value"))


def looks_random(value: str) -> bool:
    """Return whether a whole value resembles a generated key, as a long run of letters and digits with high entropy."""
    return len(value) >= _RUN and _is_mixed(value) and _is_random(value, _MIN_BITS) and not re.search(_EXAMPLE, value)


def _is_mixed(value: str) -> bool:
    """Return whether a value has letters and digits in one long run, unlike joined names in a path or host."""
    longest = max(re.split(r"[./_-]", value), key=len)
    return len(longest) >= _RUN and bool(re.search(r"[0-9]", longest) and re.search(r"[A-Za-z]", longest))


def _is_random(value: str, min_bits: float) -> bool:
    if value.startswith("-----BEGIN"):
        return True
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits >= min_bits


@dataclass(frozen=True, slots=True)
class Concealer:
    """Hides words in texts. The words are sorted."""

    words: Sequence[str]

    @classmethod
    def of(cls, values: Iterable[str], min_length: int = _MIN_PART) -> Concealer:
        """Return a concealer for all words in ``values`` that have at least ``min_length`` characters."""
        parts = {part for value in values for part in _PART.findall(value)}
        return cls(sorted(part for part in parts if len(part) >= min_length))

    def without(self, pattern: re.Pattern[str]) -> Concealer:
        """Return a concealer for the words that ``pattern`` does not match."""
        return Concealer([word for word in self.words if not pattern.fullmatch(word)])

    def text(self, text: str) -> str:
        """Return ``text`` with each hidden word replaced. A word that was cut is recognized by its beginning."""
        return _PART.sub(lambda match: self._shown(match[0]), text) if self.words else text

    def _shown(self, word: str) -> str:
        bare = word.rstrip(".…")
        at = bisect_left(self.words, bare)
        known = self.words[at] if at < len(self.words) else ""
        is_hidden = known == bare or (len(bare) >= _MIN_PREFIX and known.startswith(bare))
        return "*" * len(bare) + word[len(bare) :] if is_hidden else word


def conceal(diagnostics: Diagnostics) -> Diagnostics:
    """Return the findings without any credential in messages, hints, fixes and the lines of their files.

    A credential that is an ordinary word, such as ``admin``, is hidden only in its place and in findings about it.
    """
    found = diagnostics.sorted()
    paths = dict.fromkeys(each.span.path for each in found)
    sources = [source for path in paths if (source := diagnostics.source(path))]
    ranges = {source.path: [*_ranges(source, found)] for source in sources}
    if not any(ranges.values()):
        return diagnostics
    everything = Concealer.of(_values(sources, ranges))
    everywhere = everything.without(_ORDINARY)
    unread = {each.span.path for each in found if _is_unread(each)}
    by_file = {source.path: Concealer.of(_values([source], ranges)) for source in sources if source.path in unread}
    by_line = {place: Concealer.of(values) for place, values in _by_line(sources, ranges).items()}

    def shown(finding: Diagnostic) -> Diagnostic:
        span = finding.span
        lines = range(span.start.line, min(span.end.line, span.start.line + _MAX_LINES) + 1)
        near = [by_line[span.path, line] for line in lines if (span.path, line) in by_line]
        near += [each for each in (everywhere, by_file.get(span.path)) if each]
        if finding.code.number.startswith(_ABOUT_CREDENTIALS):
            near = [everything]

        def text(text: str) -> str:
            for concealer in near:
                text = concealer.text(text)
            return text

        texts = [edit.text for edit in finding.fix.edits] if finding.fix else []
        fix = finding.fix if all(text(each) == each for each in texts) else None
        return replace(finding, message=text(finding.message), hint=text(finding.hint), fix=fix)

    concealed = diagnostics.map(shown)
    for source in sources:
        concealed.add_source(SourceText(source.path, everywhere.text(masked(source.text, ranges[source.path]))))
    return concealed


def _values(sources: Iterable[SourceText], ranges: Mapping[str, Sequence[tuple[int, int]]]) -> Iterator[str]:
    """Yield the credentials of some files."""
    yield from (source.text[start:end] for source in sources for start, end in ranges[source.path])


def _by_line(
    sources: Iterable[SourceText], ranges: Mapping[str, Sequence[tuple[int, int]]]
) -> Mapping[tuple[str, int], Sequence[str]]:
    """Return the credentials by file and by their lines."""
    found: dict[tuple[str, int], list[str]] = {}
    for source in sources:
        for start, end in ranges[source.path]:
            span = source.span(start, end)
            for line in range(span.start.line, span.end.line + 1):
                found.setdefault((source.path, line), []).append(source.text[start:end])
    return found


def conceal_text(text: str) -> str:
    """Return a text in which strings that look like secrets are hidden."""
    return masked(text, [*secret_ranges(text)])


def _is_unread(finding: Diagnostic) -> bool:
    return finding.is_error and finding.code.number.startswith(_UNREAD)


def _ranges(source: SourceText, found: Sequence[Diagnostic]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file's text that must not be printed."""
    yield from secret_ranges(source.text)
    here = [each for each in found if each.span.path == source.path]
    for each in here:
        start, end = source.offset(each.span.start), source.offset(each.span.end)
        if each.code.number == codes.CREDENTIAL.number and not is_unexpanded(source.text[start:end]):
            yield start, end
    if any(map(_is_unread, here)):
        yield from _assigned(source.text)


def secret_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a text that look like secrets."""
    yield from ((secret.start, secret.end) for secret in find_secrets(text))
    yield from ((match.start, match.end) for match in credentials_in(text))


def _assigned(text: str) -> Iterator[tuple[int, int]]:
    """Yield the values whose names are those of credentials, in a file that could not be parsed."""
    for match in _ASSIGNED.finditer(text):
        value = match["value"].strip("\"' \t")
        if credential_name(match["name"]) and not is_exempt(value) and "{{" not in without_scheme(value):
            yield match.span("value")


def masked(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with the characters in ``ranges`` hidden, except white space."""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(ranges):
        if end > at:
            pieces += [text[at : max(start, at)], re.sub(r"\S", "*", text[max(start, at) : end])]
            at = end
    return "".join([*pieces, text[at:]])
