"""The estimate of tokens compared with two tokenizers whose vocabularies come with their packages.

``js-tiktoken`` (npm) has o200k_base of OpenAI, ``mistral-common`` has Tekken of Mistral. `.ci/with-node-packages`
installs the first and sets TOOLC_NODE_MODULES to its folder.
"""

import json
import os
import shutil
import statistics
import subprocess
from pathlib import Path

import pytest
from project.paths import ROOT, SPECS

from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.names import PROVIDER_NAMES
from toolc.model.registry_io import canonical
from toolc.providers import load_provider
from toolc.providers.token_estimate import estimate_tokens

MODULES = os.environ.get("TOOLC_NODE_MODULES")
MAX_ERROR, MEAN_ERROR = 0.15, 0.045
"""The errors that the documentation states."""

COUNT = """\
const { getEncoding } = require("js-tiktoken");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const encoding = getEncoding("o200k_base");
console.log(JSON.stringify(texts.map((text) => encoding.encode(text).length)));
"""


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Return the definitions of all tools of the corpus, the built-in ones and the examples, for each provider."""
    found: list[str] = []
    for path in [*sorted((ROOT / "tests/corpus").glob("*.*ml")), SPECS, ROOT / "docs/guides/examples"]:
        tools = compile_specs([path]).tools
        for name in PROVIDER_NAMES:
            found += [canonical(each).decode() for each in load_provider(name).lower(tools).definitions]
    assert len(found) > 1_500
    return found


def o200k(texts: list[str]) -> list[int]:
    if MODULES is None or shutil.which("node") is None:
        pytest.skip("Node.js or TOOLC_NODE_MODULES is missing")
    done = subprocess.run(
        ["node", "-e", COUNT],
        input=json.dumps(texts), env={**os.environ, "NODE_PATH": MODULES}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [int(each) for each in json.loads(done.stdout)]


def tekken(texts: list[str]) -> list[int]:
    mistral = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    tokenizer = mistral.MistralTokenizer.v3(is_tekken=True).instruct_tokenizer.tokenizer
    return [len(tokenizer.encode(text, bos=False, eos=False)) for text in texts]


@pytest.mark.parametrize("count", [o200k, tekken])
def test_the_estimate_is_as_good_as_documented(count: object, texts: list[str]) -> None:
    assert callable(count)
    errors = [estimate_tokens(text) / tokens - 1 for text, tokens in zip(texts, count(texts), strict=True)]
    assert max(map(abs, errors)) < MAX_ERROR
    assert statistics.mean(map(abs, errors)) < MEAN_ERROR


def test_the_documentation_states_these_errors() -> None:
    page = " ".join(Path(ROOT / "docs/guides/token-budgets.md").read_text(encoding="utf-8").split())
    assert f"at most {MAX_ERROR:.0%}" in page.replace(" %", "%")
    assert f"less than {MEAN_ERROR:.1%} on average" in page.replace(" %", "%")
