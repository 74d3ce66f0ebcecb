"""The catalog as one file: its policy, its data, and the modules of the page as one script."""

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from typing import Any

from calls.fake_tools import registry, tool

from toolc.runtime.execution.admission import ReviewedTools
from toolc.serve.page.catalog import Catalog
from toolc.serve.page.catalog_file import bundled, catalog_file, page_files

HOSTILE = "</script><script>alert(1)</script><!--<script>"
TOOLS = registry(replace(tool("echo"), description=HOSTILE), tool("anthropic"))
FILE = catalog_file(
    Catalog(tools=[TOOLS.registered(name) for name in TOOLS.names], others=ReviewedTools(TOOLS.called), toolsets={}),
    [{"tool": "echo", "moved": "added"}, {"tool": "other", "moved": "added"}],
)


def part(pattern: str) -> str:
    (found,) = re.findall(pattern, FILE, re.DOTALL)
    return str(found)


def answers() -> dict[str, Any]:
    stored = part(r'<script type="application/gzip" id="stored">(.*?)</script>')
    value: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(stored, validate=True)))
    return value


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_browser_runs_only_the_script_and_the_style_of_the_file() -> None:
    policy = part(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
    assert policy.startswith("default-src 'none'; ")
    script, style = part(r'<script type="module">(.*?)</script>'), part(r"<style>(.*?)</style>")
    assert f"script-src {digest(script)}; style-src {digest(style)};" in policy
    assert FILE.index("Content-Security-Policy") < FILE.index("<style>") < FILE.index("<script")


def test_the_file_loads_nothing_else() -> None:
    outside = re.sub(r"<script.*?</script>|<style>.*?</style>", "", FILE, flags=re.DOTALL)
    assert re.findall(r"\b(?:src|href)=\"(?!#)[^\"]*\"", outside) == []
    assert re.findall(r"^import\b.*", bundled(decoded()), re.MULTILINE) == []


def test_a_text_of_a_tool_cannot_end_the_data() -> None:
    assert answers()["catalog/echo"]["description"] == HOSTILE
    assert FILE.count("<script") == 2


def test_the_data_answers_what_the_page_asks() -> None:
    assert [each["name"] for each in answers()["catalog?anthropic"]["tools"]] == ["anthropic", "echo"]
    assert answers()["catalog/anthropic"]["name"] == "anthropic"
    assert answers()["catalog/echo"]["lock_changes"] == [{"tool": "echo", "moved": "added"}]
    assert "catalog?ollama" in answers()


def decoded() -> dict[str, str]:
    return {name: content.decode() for name, content in page_files().items()}


def test_each_module_is_a_function_after_those_that_it_imports() -> None:
    script = bundled({
        "main.js": 'import { a, b as c } from "./x.js";\nimport * as y from "./y.js";\na(y);\n',
        "x.js": "export function a() {}\nexport const b = 1;\n",
        "y.js": 'import { a } from "./x.js";\nexport async function show() {}\nexport class Z {}\n',
    })  # fmt: skip
    assert script == (
        "const module_x = (() => {\nfunction a() {}\nconst b = 1;\n\nreturn { a, b };\n})();\n"
        "const module_y = (() => {\nconst { a } = module_x;\nasync function show() {}\nclass Z {}\n\n"
        "return { show, Z };\n})();\n"
        "const module_main = (() => {\nconst { a, b: c } = module_x;\nconst y = module_y;\na(y);\n\nreturn {  };\n})();"
    )


def test_every_import_and_export_of_the_page_has_a_form_that_the_file_understands() -> None:
    for name, text in decoded().items():
        if name.endswith(".js"):
            unknown = [
                line
                for line in text.splitlines()
                if re.match(r"(import|export)\b", line)
                and not re.fullmatch(r'import (\{[^}]+\}|\* as \w+) from "\./\w+\.js";', line)
                and not re.match(r"export (async )?(function\*?|const|class) \w+", line)
            ]
            assert (name, unknown) == (name, [])
