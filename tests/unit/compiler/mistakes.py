"""Common mistakes: a good spec with one change, or a file that is not a spec."""

import json
from typing import Final

GOOD: Final = """\
toolc: 1
name: word_count
label: Count words
description: >-
  Count the words of one text file in the workspace. Use it for questions about the length
  of a text. Do not use it for binary files.
parameters:
  path: {type: string, description: "File, relative to the workspace"}
backend:
  shell:
    argv: [wc, -w, --, "{{ path }}"]
sandbox:
  workspace: ro
annotations: {read_only: true}
tests:
  - args: {path: README.md}
    files: {README.md: "two words\\n"}
    expect: {text: "2 README.md\\n"}
"""
"""A spec without findings."""

_ARGV: Final = 'argv: [wc, -w, --, "{{ path }}"]'
_SHELL: Final = f"  shell:\n    {_ARGV}"
_PARAMETER: Final = '  path: {type: string, description: "File, relative to the workspace"}'
_MCP_TOOLS: Final = {"tools": [{"name": "x", "description": "y", "inputSchema": {"type": "object"}}]}

CHANGED: Final = {
    # YAML syntax
    "missing colon": ("name: word_count", "name word_count"),
    "missing colon of a map": ("  shell:", "  shell"),
    "missing space": ("name: word_count", "name:word_count"),
    "tabs": ("  shell:\n    argv", "\tshell:\n\t\targv"),
    "indented too little": ("    argv:", "  argv:"),
    "indented too much": ("label: Count", "  label: Count"),
    "item out of line": ("    files: {", "   files: {"),
    "no-break space": ("label: Count", "label:\u00a0Count"),
    "no-break spaces that indent": ("  workspace", "\u00a0\u00a0workspace"),
    "curly quotes": ('"{{ path }}"', "“{{ path }}”"),
    "unquoted placeholder": ('"{{ path }}"', "{{ path }}"),
    "unquoted placeholder of an item": (_ARGV, "argv:\n      - wc\n      - {{ path }}"),
    "unquoted star": (_ARGV, "argv: [ls, *.py]"),
    "unquoted at": ("label: Count words", "owner: @team"),
    "colon in text": ("label: Count words", "label: Count words: all"),
    "quote in quotes": ("label: Count words", "label: 'Count the user's words'"),
    "Windows path": ("label: Count words", 'label: "C:\\new\\users"'),
    "text not indented": ("  Count the words of one", "Count the words of one"),
    "bracket not closed": (f"{_ARGV}\n", f"{_ARGV[:-1]}\n"),
    "bracket not closed at the end": (GOOD[GOOD.index("backend:") :], "backend: ["),
    "key twice": ("label: Count words", "name: other"),
    "conflict": ("label: Count words\n", "<<<<<<< HEAD\nlabel: One\n=======\nlabel: Two\n>>>>>>> main\n"),
    "fence": (GOOD, f"```yaml\n{GOOD}```\n"),
    "Helm": (GOOD, "{{- if .Values.x }}\n" + GOOD + "{{- end }}\n"),
    "mistake below a template": (
        "sandbox:", "result:\n  template: |\n    {% if x %}\n    ```\n    =======\n    {% endif %}\nsandbox",
    ),
    "two documents": (GOOD, GOOD + "---\n" + GOOD.replace("word_count", "line_count")),
    # values of the wrong kind
    "yes": ("read_only: true", "read_only: yes"),
    "version": ("label: Count words", "version: 1.10"),
    "argv as text": (_ARGV, 'argv: wc -w -- "{{ path }}"'),
    "argv with a number": ("[wc, -w,", "[head, -n, 5,"),
    "shell as text": (_SHELL, '  shell: wc -w "{{ path }}"'),
    "backend as text": (f"backend:\n{_SHELL}", "backend: shell"),
    "enum": ("workspace: ro", "workspace: readonly"),
    "empty": ("label: Count words", "label:"),
    "limits without units": ("workspace: ro", "workspace: ro\n  limits: {timeout: 30, memory: 512, cpus: two}"),
    "limits in other units": ("workspace: ro", "workspace: ro\n  limits: {timeout: 30 seconds, memory: 512MB}"),
    "network as true": ("workspace: ro", "workspace: ro\n  network: true"),
    "network as list": ("workspace: ro", "workspace: ro\n  network: [api.github.com]"),
    "network with URL": ("workspace: ro", 'workspace: ro\n  network: {allow: ["https://api.github.com/"]}'),
    "tests as map": (GOOD[GOOD.index("  - args") :], "  args: {path: README.md}\n"),
    "URL without scheme": (_SHELL, '  http: {method: get, url: "api.github.com/{{ path }}"}'),
    "scheme of a blank": (_SHELL, '  http: {method: GET, url: " ://a.example/{{ path }}"}'),
    "host with a blank": (_SHELL, '  http: {method: GET, url: "https:// .example.com/{{ path }}"}'),
    # keys of other formats
    "typo": ("parameters:", "paramters:"),
    "inputSchema": ("parameters:", "inputSchema:"),
    "capital": ("name: word_count", "Name: word_count"),
    "camel case": ("read_only", "readOnlyHint"),
    "command": (f"backend:\n{_SHELL}", "command: wc -w"),
    "timeout at the top": ("label: Count words", "timeout: 30s"),
    "description under the backend": (_ARGV, f"{_ARGV}\n    description: Count words."),
    "stdout": ("expect: {text:", "expect: {stdout:"),
    "apiVersion": ("toolc: 1", "apiVersion: toolc/v1\nkind: Tool"),
    "version of the format": ("toolc: 1", 'toolc: "1.0"'),
    # parameters
    "parameter as text": (_PARAMETER, "  path: string"),
    "parameters as list": (_PARAMETER, "  - name: path\n    type: string"),
    "type of Python": ("{type: string", "{type: str"),
    "required in a parameter": ("{type: string,", "{type: string, required: true,"),
    "required at the top": ("backend:", "required: [path]\nbackend:"),
    "schema without a type": (_PARAMETER, "  properties:\n    path: {type: string}\n  required: [path]"),
    "default in quotes": ("{type: string,", '{type: integer, default: "5",'),
    "argument of another name": ("args: {path:", "args: {file:"),
    # templates
    "unknown name": ("{{ path }}", "{{ paht }}"),
    "open braces": ("{{ path }}", "{{ path"),
    "call": ("{{ path }}", "{{ path.strip() }}"),
    "shell variable": ('"{{ path }}"', '"${path}"'),
    "secret": ("workspace: ro", "workspace: ro\n  env: {GITHUB_TOKEN: ghp_abcdefghijklmnopqrstuvwxyz0123456789}"),
}  # fmt: skip
"""The changed text of ``GOOD`` and its replacement, by mistake."""

_TOML: Final = """\
toolc = 1
name = "word_count"
description = "Count the words of one text file in the workspace."

[backend.shell]
argv = ["wc", "--", "README.md"]
"""

OTHER: Final[dict[str, str | bytes]] = {
    "good.yaml": GOOD,
    "good.toml": _TOML,
    "windows.yaml": GOOD.replace("\n", "\r\n"),
    "json.yaml": json.dumps({"toolc": 1, "name": "x", "inputSchema": {"type": "object"}}, indent=2),
    "openapi.yaml": "openapi: 3.1.0\ninfo: {title: Pets, version: 1.0.0}\npaths: {}\n",
    "mcp.yaml": json.dumps(_MCP_TOOLS, indent=1),
    "mcp.json": json.dumps(_MCP_TOOLS),
    "list.yaml": "- toolc: 1\n  name: x\n",
    "yaml.toml": GOOD,
    "toml.yaml": _TOML,
    "toml-without-tables.yaml": _TOML[: _TOML.index("[")],
    "binary.yaml": bytes(range(256)),
    "utf-16.yaml": b"\xff\xfe" + GOOD.encode("utf-16-le"),
    "latin-1.yaml": GOOD.replace("Count words", "Wörter").encode("latin-1"),
    "mark.yaml": b"\xef\xbb\xbf" + GOOD.encode(),
    "unquoted.toml": _TOML.replace('"word_count"', "word_count"),
    "unclosed.toml": _TOML.replace('word_count"', "word_count"),
    "key-below-table.toml": f'{_TOML}version = "1"\n',
    "table-twice.toml": f'{_TOML}[backend.shell]\nstdin = "x"\n',
    "table-and-list.toml": f"{_TOML}[tests]\nargs = {{}}\n[[tests]]\nargs = {{}}\n",
    "mistake-below-text.toml": f'label = """\n```\n=======\n{{{{- if x }}}}\n"""\nowner = me\n{_TOML}',
    "date.toml": f"version = 2026-01-01\n{_TOML}",
    "long.toml": f"{'k' * 500} = 1\nx = 1e{'9' * 500}\n{_TOML}",
    "long-key.toml": f"{'k' * 500} = 1\n{_TOML}",
    "open-map.toml": _TOML.replace("[backend.shell]\n", "backend = { shell = {\n"),
}
"""Complete files by name."""


def files() -> dict[str, bytes]:
    """Return every mistake as a file."""
    texts: dict[str, str | bytes] = {}
    for name, (was, text) in CHANGED.items():
        assert was in GOOD, name
        texts[f"{name.replace(' ', '-')}.yaml"] = GOOD.replace(was, text, 1)
    return {name: text.encode() if isinstance(text, str) else text for name, text in sorted((texts | OTHER).items())}
