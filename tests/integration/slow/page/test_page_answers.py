"""Every text that the server may answer is hostile: each view shows it, and nothing of it runs or leaves the page.

A script replaces ``fetch`` in the page. It appends markup to each text of each answer, and adds a key of markup to each
object, so that no field is forgotten: names, tags, toolsets, policy messages, file names, differences, errors, events.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from browsers.chromium import Browser
from calls.real_http import RealServer, commit, prepare, real_server, toolc

HOSTILE = "\"'><img src=x onerror=pwned=1><script>pwned=1</script><a href=javascript:pwned=1>\u202e"
PROTOCOL = [
    "approved", "changed", "new", "reviewer", "caller", "running", "ended", "failed", "passed", "error", "outdated",
    "start", "update", "connect", "retry", "denied", "text", "image", "file", "resource", "image/gif", "stderr",
    "stdout", "string", "object", "array", "integer", "number", "boolean", "null",
]  # fmt: skip
"""Texts that the page compares. They are not shown, or not alone."""

SPOIL = """
const HOSTILE = %s, PROTOCOL = new Set(%s);
function spoiled(value, key) {
  if (typeof value === "string") {
    return PROTOCOL.has(value) || key === "data" ? value : value + HOSTILE;
  }
  if (Array.isArray(value)) {
    return value.map((each) => spoiled(each, key));
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const entries = Object.entries(value).map(([name, each]) => [name, spoiled(each, name)]);
  return Object.fromEntries(entries.length ? [...entries, [HOSTILE, entries.at(-1)[1]]] : entries);
}
const real = window.fetch;
window.fetch = async (address, options) => {
  const clean = String(address).replaceAll(encodeURIComponent(HOSTILE), "");
  const isCall = options?.method === "POST" && clean.endsWith("/tools/draw_dot"); // the form has hostile arguments
  const response = await real(clean, isCall ? { ...options, body: '{"words": "a"}' } : options);
  const type = response.headers.get("Content-Type") ?? "";
  if (!/json|event-stream/.test(type)) {
    return response;
  }
  const spoil = (text) => JSON.stringify(spoiled(JSON.parse(text)));
  const text = await response.text();
  const ofEvents = () => text.replace(/^data: (.*)$/gm, (_, data) => `data: ${spoil(data)}`);
  const body = type.includes("json") ? spoil(text) : ofEvents();
  return new Response(body, { status: response.status, headers: { "Content-Type": type } });
};
"""

SPECS = """\
toolc: 1
tools:
  - name: draw_dot
    label: Draw a dot
    description: Return a dot and report progress. Use it to see a picture.
    tags: [pictures]
    deprecated: Use draw_line.
    parameters:
      words: {type: string, maxLength: 20, description: The words}
      size: {type: integer, optional: true, description: The size}
      kind: {type: string, enum: [a, b], optional: true, description: The kind}
    examples: [{words: a, size: 1}]
    tests:
      - {args: {words: a}, expect: {text: b}}
    backend:
      python:
        code: |
          import base64, sys, urllib.request
          def draw_dot(ctx, words, size=None, kind=None):
              ctx.progress(50, words)
              print(words, file=sys.stderr)
              try:
                  urllib.request.urlopen("http://a.example:25/")
              except OSError:
                  pass
              yield words
              yield base64.b64decode("R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==")
    sandbox: {network: {allow: ["public:443"]}, workspace: rw}
  - name: wipe_file
    description: Remove a file. Use it only after a person has confirmed it.
    confirm: true
    parameters: {path: {type: string, description: The file}}
    backend: {shell: {argv: [echo, wiped, "{{ path }}"]}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose specs have changed since they were approved, tested and committed."""
    folder = tmp_path_factory.mktemp("answers")
    prepare(folder)
    specs = folder / "specs" / "tools.yaml"
    specs.write_text(SPECS)
    (folder / "work").mkdir()
    (folder / "specs" / "toolc.yaml").write_text("toolsets: {art: [draw_dot]}\n")
    toolc(folder, "lock", "specs")
    digests = {"surface": "a", "effect": "b"}
    result = {"tool": "draw_dot", "number": 1, "outcome": "failed", "duration_ms": 1, "problems": ["p"]}
    (folder / "results.json").write_text(json.dumps({"tests": [{**result, "digests": digests}]}))
    commit(folder, "specs", "toolc.lock")
    specs.write_text(SPECS.replace("public:443", "a.example:443").replace("maxLength: 20", "maxLength: 10"))
    toolc(folder, "token", "create", "ann", "--role", "reviewer")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RealServer]:
    options = ("--workspace", "work", "--confirm", "api", "--tests", "results.json")
    with real_server(folder, *options) as started:
        yield started


@contextmanager
def spoiled_answers(chromium: Browser) -> Iterator[None]:
    source = SPOIL % (json.dumps(HOSTILE), json.dumps(PROTOCOL))
    added = chromium.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    try:
        yield
    finally:
        chromium.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def shows_markup_as_text(page: Browser, origin: str) -> None:
    assert page.run("return typeof pwned") == "undefined"
    assert "<img src=x onerror=pwned=1>" in page.run("return document.getElementById('place').textContent")
    active = "script, iframe, style, object, [onerror], img:not([src^='blob:']), a:not([href^='#/'], [download])"
    assert page.all(", ".join(f"main {each}" for each in active.split(", "))) == []
    assert "\u202e" not in page.run("return document.body.textContent")
    loaded = page.run("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert [each for each in loaded if not each.startswith((origin, f"blob:{origin}"))] == []


def test_no_text_of_an_answer_about_tools_becomes_markup(server: RealServer, chromium: Browser) -> None:
    with spoiled_answers(chromium):
        for view, selector in (("", ".row"), ("tools/draw_dot", ".callout"), ("tools/missing", ".notice h2")):
            chromium.open(f"{server.url}/#/{view}", selector)
            for each in chromium.all("main [role=tab]"):
                each.click()
            for each in chromium.all("main summary"):
                each.click()
            shows_markup_as_text(chromium, server.url)


def test_no_text_of_a_call_becomes_markup(server: RealServer, chromium: Browser) -> None:
    with spoiled_answers(chromium):
        chromium.open(f"{server.url}/#/try/draw_dot", ".trial")
        for each in chromium.all(".optional > label > input, main summary"):
            each.click()
        shows_markup_as_text(chromium, server.url)
        chromium.open(f"{server.url}/#/try/draw_dot", ".trial")
        chromium.wait(".trial button.primary").click()
        chromium.wait(".result img")
        for each in chromium.all("main summary"):
            each.click()
        shows_markup_as_text(chromium, server.url)
        chromium.open(f"{server.url}/#/history", ".history")
        shows_markup_as_text(chromium, server.url)
        chromium.all(".history tbody a")[1].click()
        chromium.wait(".result img")
        shows_markup_as_text(chromium, server.url)


def test_no_text_that_a_reviewer_reads_becomes_markup(folder: Path, server: RealServer, chromium: Browser) -> None:
    chromium.open(toolc(folder, "token", "link", "ann").strip(), "button.primary")
    chromium.wait("button.primary").click()
    chromium.wait(".row")
    chromium.run(
        "return fetch('api/v1/tools/wipe_file', {method: 'POST', headers: {Prefer: 'respond-async'}, "
        'body: \'{"path": "a"}\'}).then((each) => each.json())'
    )
    with spoiled_answers(chromium):
        chromium.open(f"{server.url}/#/review", ".change")
        assert len(chromium.all(".change")) > 1
        shows_markup_as_text(chromium, server.url)
        chromium.open(f"{server.url}/#/review?base=missing", ".notice")
        shows_markup_as_text(chromium, server.url)
        chromium.open(f"{server.url}/#/confirmations", ".question")
        shows_markup_as_text(chromium, server.url)
        chromium.wait(".question button.quiet").click()
        chromium.wait(".question .form")
        shows_markup_as_text(chromium, server.url)
    chromium.wait("#client button").click()
