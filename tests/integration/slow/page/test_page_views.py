"""The page in Chromium: catalog, tools and reviews of hostile specs, with results of tests in real sandboxes."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers.chromium import KEYS, NODE_MODULES, THEMES, WIDTHS, Browser
from calls.real_http import RealServer, commit, environment, prepare, real_server, toolc
from project.paths import ROOT

from toolc.model.names import PROVIDER_NAMES

HOSTILE = "<img src=x onerror=pwned=1><script>pwned=1</script> javascript:pwned=1"
SPECS = f"""\
toolc: 1
tools:
  - name: count_words
    label: "{HOSTILE}"
    description: "Count the words of a text. {HOSTILE}"
    parameters:
      text: {{type: string, maxLength: 200, description: "{HOSTILE}", default: "</script>"}}
    backend: {{shell: {{script: 'printf %s "$ARG_text" | wc -w'}}}}
    tags: ["text"]
    tests:
      - {{args: {{text: two words}}, expect: {{matches: "2"}}}}
      - {{args: {{text: one}}, expect: {{text: "{HOSTILE}\\u202Ereversed"}}}}
  - name: old_tool
    description: Print a greeting. Use it never.
    deprecated: "{HOSTILE}"
    backend: {{shell: {{argv: [echo, hello]}}}}
    confirm: true
"""
CHANGED = (
    SPECS.replace("Count the words", "Count all the words").replace("maxLength: 200", "maxLength: 100")
    + "    sandbox: {network: {allow: ['a.example:443']}}\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose specs have changed since they were approved and tested."""
    folder = tmp_path_factory.mktemp("page")
    prepare(folder)
    specs = folder / "specs" / "tools.yaml"
    specs.write_text(SPECS)
    toolc(folder, "lock", "specs")
    commit(folder, "specs", "toolc.lock")
    command = [sys.executable, "-m", "toolc", "test", "specs", "--json", "--engine", "oci"]
    results = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, check=False)
    (folder / "results.json").write_bytes(results.stdout)
    specs.write_text(CHANGED)
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RealServer]:
    with real_server(folder, "--tests", "results.json", "--deny", "old_tool") as started:
        yield started


@pytest.fixture(scope="module")
def reviewer(folder: Path, server: RealServer, chromium: Browser) -> RealServer:
    """The server, with a reviewer signed in."""
    toolc(folder, "token", "create", "ann", "--role", "reviewer")
    chromium.errors()  # those of other modules
    chromium.open(toolc(folder, "token", "link", "ann").strip(), "button.primary")
    chromium.wait("button.primary").click()
    chromium.wait(".rows")
    return server


def is_harmless(page: Browser, origin: str) -> None:
    """Assert that nothing of a spec ran or became an element, and that nothing left the page."""
    assert page.run("return typeof pwned") == "undefined"
    assert page.all("main img, main script, main iframe, main style, main [onerror]") == []
    loaded = page.run("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert [each for each in loaded if not each.startswith(origin)] == []
    assert page.errors() == []


def test_the_catalog_finds_tools_by_words_and_filters(reviewer: RealServer, chromium: Browser) -> None:
    chromium.open(reviewer.url + "/", ".row")
    assert chromium.texts(".row-link") == ["count_words", "old_tool"]
    chromium.wait("#search").send_keys("greeting")
    assert chromium.texts(".row-link") == ["old_tool"]
    assert chromium.run("return location.hash") == "#/?q=greeting"
    chromium.open(f"{reviewer.url}/#/?tag=text", ".row")
    assert chromium.texts(".row-link") == ["count_words"]
    chromium.wait("#search").send_keys("nothing has this")
    assert chromium.wait(".empty").text == "No tool matches. Remove a filter or a word."
    is_harmless(chromium, reviewer.url)


def test_the_catalog_shows_states(reviewer: RealServer, chromium: Browser) -> None:
    chromium.look("wide", "light")
    chromium.open(reviewer.url + "/", ".row")
    rows = chromium.texts(".row")
    assert all(each in rows[0] for each in ("changed", "results out of date", "low risk", "no network, no files"))
    states = ("denied here", "deprecated", "asks first", "a.example:443", "medium risk", "changed")
    assert all(each in rows[1] for each in states)
    assert "denied here" not in rows[0]


def test_the_arrow_keys_move_between_tools_and_enter_opens_one(reviewer: RealServer, chromium: Browser) -> None:
    chromium.open(reviewer.url + "/", ".row")
    chromium.wait(".row-link").send_keys(KEYS["ARROW_DOWN"])
    assert chromium.driver.switch_to.active_element.text == "old_tool"
    chromium.driver.switch_to.active_element.send_keys(KEYS["ENTER"])
    chromium.wait("h1.mono")
    assert chromium.driver.switch_to.active_element.get_attribute("id") == "place"


def test_a_tool_is_shown_as_each_provider_s_models_see_it(reviewer: RealServer, chromium: Browser) -> None:
    chromium.open(f"{reviewer.url}/#/tools/count_words", ".tabs")
    tabs = chromium.all("[role=tab]")
    assert [each.text for each in tabs] == [*PROVIDER_NAMES]
    for tab in tabs:
        tab.click()
        description = chromium.wait("[role=tabpanel] .description").text
        assert "Count all the words of a text. <img src=x onerror=pwned=1><script>pwned=1</script>" in description
        assert chromium.texts(".losses h3")
    tabs[0].send_keys(KEYS["ARROW_RIGHT"])
    assert chromium.wait("[role=tab][aria-selected=true]").text == PROVIDER_NAMES[1]
    is_harmless(chromium, reviewer.url)


def test_a_tool_shows_its_tests_and_what_is_not_approved(reviewer: RealServer, chromium: Browser) -> None:
    chromium.open(f"{reviewer.url}/#/tools/count_words", ".callout")
    tests = chromium.texts(".tests li")
    assert ["passed" in tests[0], "failed" in tests[1]] == [True, True]
    assert all("out of date" in each for each in tests)
    assert "\u2039U+202E\u203areversed" in chromium.wait(".tests li:last-child").get_attribute("textContent")
    assert "description, parameters.properties.text.maxLength" in chromium.wait(".callout").text
    is_harmless(chromium, reviewer.url)


def test_the_tests_of_a_tool_run_in_sandboxes(reviewer: RealServer, chromium: Browser) -> None:
    chromium.open(f"{reviewer.url}/#/tools/count_words", ".tests")
    next(each for each in chromium.all("button") if each.text == "Run these tests").click()
    chromium.wait(".tests .badge.good")
    tests = chromium.texts(".tests li")
    assert ["passed" in tests[0], "failed" in tests[1], "out of date" in tests[0]] == [True, True, False]
    is_harmless(chromium, reviewer.url)


def test_a_review_has_risks_first_with_words_and_an_example(reviewer: RealServer, chromium: Browser) -> None:
    chromium.open(f"{reviewer.url}/#/review", ".change")
    grades = chromium.texts(".change .badge:first-child")
    assert grades[:2] == ["high", "breaking"]
    assert "may now reach a.example:443" in chromium.texts(".change h3")[0]
    assert chromium.texts(".change ins") != []
    assert "all" in "".join(chromium.texts(".change ins"))
    assert "aaaaaaaaaa" in "".join(chromium.texts(".change pre"))
    identifier = chromium.all(".change")[1].get_attribute("id").removeprefix("change-")
    chromium.open(f"{reviewer.url}/#/review?change={identifier}", f"#change-{identifier}:focus")
    is_harmless(chromium, reviewer.url)


def test_a_caller_is_refused_a_review_and_an_unknown_address_says_so(server: RealServer, chromium: Browser) -> None:
    chromium.open(f"{server.url}/#/tools/missing", ".notice h2")
    assert "no tool 'missing'" in chromium.wait(".notice").text
    chromium.open(f"{server.url}/#/x/%E0%A4%A", "main:not([aria-busy])")
    assert chromium.errors() != []  # the status 404 of the tool


@pytest.mark.parametrize("view", ["", "tools/count_words", "tools/old_tool", "review"])
def test_every_view_is_accessible_and_fits(view: str, reviewer: RealServer, chromium: Browser) -> None:
    chromium.open(f"{reviewer.url}/#/{view}", "main:not([aria-busy]) .card, main:not([aria-busy]) .row")
    for width in WIDTHS:
        for theme in THEMES:
            chromium.look(width, theme)
            chromium.shoot(f"{view.replace('/', '-') or 'catalog'}-{width}-{theme}")
            assert chromium.violations() == [], (width, theme)
            assert all("tokens" in each for each in chromium.texts(".row")), (width, theme)
            assert chromium.run("return document.documentElement.scrollWidth <= innerWidth"), (width, theme)


def test_the_file_of_the_catalog_shows_the_same_without_a_server(folder: Path, chromium: Browser) -> None:
    toolc(folder, "catalog", "specs", "--html", "catalog.html", "--tests", "results.json")
    file = f"file://{folder}/catalog.html"
    chromium.errors()
    chromium.open(f"{file}#/", ".row")
    assert chromium.texts(".row-link") == ["count_words", "old_tool"]
    chromium.open(f"{file}#/tools/count_words?provider=gemini", ".callout")
    assert chromium.wait("[role=tab][aria-selected=true]").text == "gemini"
    is_harmless(chromium, file)
    assert chromium.violations() == []


def test_two_thousand_tools_are_searched_at_once(tmp_path: Path, chromium: Browser) -> None:
    tool = "  - {name: tool_%d, description: Print the number %d. Use it in tests., backend: {shell: {argv: [echo]}}}\n"
    (tmp_path / "specs.yaml").write_text("toolc: 1\ntools:\n" + "".join(tool % (each, each) for each in range(2000)))
    prepare(tmp_path)
    toolc(tmp_path, "catalog", "specs.yaml", "--html", "catalog.html")
    chromium.look("wide", "light")
    chromium.open(f"file://{tmp_path}/catalog.html", ".row")
    assert len(chromium.all(".row")) < 60
    search = """
        const search = document.getElementById("search"), start = performance.now();
        for (const text of ["1", "19", "199", "1999"]) {
          search.value = text;
          search.dispatchEvent(new Event("input"));
          document.body.getBoundingClientRect();
        }
        return performance.now() - start;
    """
    milliseconds = min(chromium.run(search) for _ in range(10))  # the browser may have to wait for a processor
    assert milliseconds < 1000
    assert chromium.texts(".row-link") == ["tool_1999"]
    chromium.run("document.getElementById('search').value = ''")
    chromium.run("document.getElementById('search').dispatchEvent(new Event('input'))")
    chromium.wait(".row-link").send_keys(KEYS["END"])
    assert chromium.driver.switch_to.active_element.text == "tool_999"
    assert len(chromium.all(".row")) < 100


@pytest.mark.skipif(not NODE_MODULES or shutil.which("node") is None, reason="Node.js is missing")
def test_the_modules_have_types(tmp_path: Path) -> None:
    options = {
        "checkJs": True, "allowJs": True, "noEmit": True, "strict": True, "target": "es2023", "module": "es2022",
        "moduleResolution": "bundler", "lib": ["es2023", "dom", "dom.iterable"], "types": [],
    }  # fmt: skip
    config = {"compilerOptions": options, "include": [f"{ROOT}/toolc/serve/page/*.js"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    done = subprocess.run(
        [f"{NODE_MODULES}/.bin/tsc", "-p", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
