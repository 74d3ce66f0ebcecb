"""How credentials are recognized: the words in their names, their forms, and the programs that receive them.

A name is compared word by word, in lower case: ``X-API-Key`` has the words ``x``, ``api`` and ``key``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

ENDS: Final = (
    "apikey", "apitoken", "authkey", "authorization", "accesskey", "accesstoken", "clientsecret", "credential",
    "credentials", "jwt", "passphrase", "passwd", "password", "privatekey", "pwd", "secret", "secretkey",
    "secretkeybase", "signingkey", "subscriptionkey", "token",
)  # fmt: skip
"""The ends of a name, without separators, that make it the name of a credential."""

BEFORE_KEY: Final = frozenset((
    "access", "account", "admin", "api", "app", "application", "auth", "bot", "client", "consumer", "encryption",
    "functions", "ingest", "license", "master", "private", "rapidapi", "secret", "server", "service", "signing", "ssh",
    "storage", "subscription", "write",
))  # fmt: skip
"""The words before ``key`` that make it a credential."""

NOT_BEFORE_KEY: Final = frozenset((
    "cache", "foreign", "idempotency", "lookup", "message", "object", "order", "partition", "primary", "public",
    "routing", "sort", "surrogate", "translation", "websocket",
))  # fmt: skip
"""The words before ``key`` that make it something else."""

NOT_BEFORE_TOKEN: Final = frozenset((
    "bos", "cancel", "cancellation", "change", "cls", "continuation", "csrf", "cursor", "delta", "end", "eos", "first",
    "last", "mask", "max", "min", "next", "nextpage", "pad", "page", "prev", "previous", "resume", "sep", "skip",
    "start", "stop", "sync", "unk", "xsrf",
))  # fmt: skip
"""The words before ``token`` that make it something else, such as a position in a list."""

POSSIBLE: Final = frozenset((
    "appid", "auth", "bearer", "code", "cookie", "credential", "key", "pass", "pat", "session", "sessionid", "sid",
    "sig", "signature",
))  # fmt: skip
"""The last words of names under which only a value that looks random is a credential."""

ASKED: Final = frozenset((
    "access_key", "access_token", "api_key", "api_token", "apikey", "auth_token", "bearer_token", "client_secret",
    "passphrase", "passwd", "password", "private_key", "secret", "secret_key", "ssh_key",
))  # fmt: skip
"""Names of parameters that ask a model for a secret."""

AUTH: Final = {
    "basic": "PASSWORD", "bearer": "TOKEN", "api_key": "API_KEY", "value": "API_KEY", "password": "PASSWORD",
    "client_secret": "CLIENT_SECRET", "auth": "TOKEN",
}  # fmt: skip
"""Keys in ``auth`` that hold credentials, and how the names of their secrets end. Some only hold a map in format 1."""

WORDS: Final = frozenset((
    "anonymous", "disabled", "enabled", "false", "guest", "no", "none", "null", "off", "on", "true", "undefined", "yes",
))  # fmt: skip
"""Values that are not credentials."""

EXAMPLES: Final = frozenset((
    "AKIAIOSFODNN7EXAMPLE", "AKIAI44QH8DHBEXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY", "sk_test_4eC39HqLyjWDarjtT1zdp7dc", "sk_test_BQokikJOvBiI2HlWgH4olfQ2",
    "sk_test_26PHem9AhJZvU623DfE1x4sd", "pk_test_TYooMQauvdEDq54NiTphI7jx", "pk_test_6pRNASCoBOKtIshFeQd4XMUh",
    "DEMO_KEY",
))  # fmt: skip
"""Example keys that AWS, Stripe and NASA publish in their documentation. Everyone may use them."""


class Form(NamedTuple):
    """A form of credentials: ``kind`` in messages, strings of which one must occur, and the (slower) pattern.

    ``is_long`` is true if each has at least 16 consecutive letters and digits, which few texts have.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str
    is_long: bool = False


FORMS: Final = (
    Form("a GitHub token", ("github_pat_",), r"\bgithub_pat_\w{22,}"),
    Form("a GitLab token", ("glpat-",), r"\bglpat-[\w-]{20,64}"),
    Form("an API key of a model provider", ("sk-",), r"\bsk-(?=[\w-]{0,200}[0-9])[\w-]{20,200}"),
    Form("a Slack token", ("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,255}"),
    Form("a Slack webhook", ("hooks.slack.com",), r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{20,}"),
    Form("a Google API key", ("AIza",), r"\bAIza[\w-]{35}"),
    Form("a PyPI token", ("pypi-",), r"\bpypi-AgE[\w-]{40,512}"),
    Form("a SendGrid key", ("SG.",), r"\bSG\.[\w-]{16,32}\.[\w-]{16,64}"),
    # The header alone also occurs in sentences about keys, so a line of base64 must follow.
    Form("a private key", ("PRIVATE KEY-----",), r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY-----"
         r"(?=(?:\\[nr]|\s){1,99}(?:[A-Za-z0-9+/=]{8}|Proc-Type))"),
    Form("a JSON Web Token", ("eyJ",), r"\beyJ[\w-]{10,4096}\.eyJ[\w-]{10,4096}\.[\w-]{10,4096}"),
    Form("an AWS access key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", True),
    Form("a GitHub token", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), r"\bgh[opsur]_[A-Za-z0-9]{36,}", True),
    Form("a Stripe key", ("k_live_", "k_test_"), r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,128}", True),
    Form("an npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b", True),
    Form("a Hugging Face token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,64}\b", True),
)  # fmt: skip

MARKS: Final = (
    "api-key", "api_key", "apikey", "access", "auth", "basic ", "bearer ", "credential", "passw", "private", "secret",
    "token",
)  # fmt: skip
"""Strings of which one is before a credential that only its name identifies."""

HTTP_CLIENTS: Final = frozenset(("curl", "http", "https", "wget", "xh"))
"""Programs with an option for a user name and a password, and one for a header; ``date -u`` is something else."""

PASSWORD_OPTIONS: Final = {
    "ldapsearch": "-w", "mongo": "-p", "mongodump": "-p", "mongorestore": "-p", "mongosh": "-p", "redis-cli": "-a",
    "sqlcmd": "-P", "sshpass": "-p",
}  # fmt: skip
"""Programs and their option for a password, which is the next word."""

PASSWORD_IN_OPTION: Final = frozenset((
    "mariadb", "mariadb-admin", "mariadb-dump", "mysql", "mysqladmin", "mysqldump", "sshpass",
))  # fmt: skip
"""Programs whose option ``-p`` has the password in the same word."""
