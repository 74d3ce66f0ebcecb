"""The page with the keyboard alone: every control is reached, shows that it has the focus, and does its work."""

from collections.abc import Iterator

import pytest
from browsers.chromium import Browser
from calls.real_http import RealServer, prepare, real_server

CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']"
SPECS = """\
toolc: 1
tools:
  - name: add_numbers
    label: Add numbers
    description: Add two numbers and print the sum. Use it for totals.
    parameters:
      left: {type: integer, description: The first number}
      right: {type: integer, optional: true, description: The second number}
      names: {type: array, items: {type: string}, optional: true, description: Names of the sum}
    backend: {shell: {script: 'echo "sum $((ARG_left + ${ARG_right:-0}))"'}}
    sandbox: {workspace: rw}
    examples: [{left: 1, right: 2}]
    tests: [{args: {left: 1}, expect: {matches: sum}}]
  - {name: other_tool, description: Print a word. Use it in tests., backend: {shell: {argv: [echo]}}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    folder = tmp_path_factory.mktemp("keys")
    prepare(folder)
    (folder / "specs" / "tools.yaml").write_text(SPECS)
    (folder / "work").mkdir()
    with real_server(folder, "--workspace", "work") as started:
        yield started


@pytest.mark.parametrize("view", ["", "tools/add_numbers", "try/add_numbers", "history", "sign-in/ann/x", "no-view"])
def test_tab_reaches_every_control_and_shows_where_it_is(view: str, server: RealServer, chromium: Browser) -> None:
    chromium.look("wide", "light")
    chromium.open(f"{server.url}/#/{view}", "main:not([aria-busy]) :is(h1, h2)")
    for each in chromium.all("main summary"):
        each.click()
    chromium.run("document.activeElement.blur(); window.seen = new Set(); window.unmarked = []")
    controls = chromium.run(
        "return [...document.querySelectorAll(arguments[0])].filter((each) => each.tabIndex === 0 && !each.disabled "
        "&& each.checkVisibility({visibilityProperty: true})).length",
        CONTROLS,
    )
    for _ in range(controls + 3):
        chromium.press("TAB")
        chromium.run("""
            const active = document.activeElement;
            seen.add(active);
            const outlines = [null, '::after'].map((each) => getComputedStyle(active, each).outlineStyle);
            if (active !== document.body && outlines.every((each) => each === 'none')) {
              unmarked.push(active.outerHTML.slice(0, 99));
            }
        """)
    missed = chromium.run(
        "return [...document.querySelectorAll(arguments[0])].filter((each) => each.tabIndex === 0 && !each.disabled "
        "&& each.checkVisibility({visibilityProperty: true}) && !seen.has(each)).map((each) => each.outerHTML)",
        CONTROLS,
    )
    assert missed == []
    assert chromium.run("return unmarked") == []


def test_a_tool_is_found_called_and_repeated_with_keys_alone(server: RealServer, chromium: Browser) -> None:
    chromium.open(server.url + "/", ".row")
    chromium.wait("#search").send_keys("sum")
    chromium.press("ENTER")
    chromium.wait(".row:only-child")
    chromium.focus(".row-link")
    chromium.press("ENTER")
    chromium.wait("h1.mono")
    chromium.focus("a[href='#/try/add_numbers']")
    chromium.press("ENTER")
    chromium.wait(".trial")
    assert chromium.active("id") == "place"
    chromium.focus(".form input[inputmode]")
    chromium.press("4")
    chromium.focus(".optional:nth-child(3) > label > input")
    chromium.press(" ")
    assert chromium.active("inputmode") == "decimal"
    chromium.press("5")
    chromium.press("ENTER", control=True)
    chromium.wait(".result .badge")
    assert chromium.wait(".result pre").text == "sum 9"
    chromium.focus("a[href='#/history']")
    chromium.press("ENTER")
    chromium.wait(".history")
    assert chromium.active("id") == "place"
    assert chromium.wait("#status").text == "History · toolc"


def test_an_item_that_is_added_has_the_focus_and_one_that_is_removed_gives_it_back(
    server: RealServer, chromium: Browser
) -> None:
    chromium.open(f"{server.url}/#/try/add_numbers", ".trial")
    chromium.focus(".optional:nth-child(2) > label > input")
    chromium.press(" ")
    assert "Add to names" in chromium.run("return document.activeElement.textContent")
    chromium.press("ENTER")
    assert chromium.active("tagName") == "TEXTAREA"
    chromium.press("TAB")
    chromium.press("ENTER")
    assert "Add to names" in chromium.run("return document.activeElement.textContent")
    assert chromium.wait("#status").text == "Item removed"


def test_the_tabs_of_the_form_are_one_stop_and_change_with_arrows(server: RealServer, chromium: Browser) -> None:
    chromium.open(f"{server.url}/#/try/add_numbers", ".trial")
    chromium.focus("#form-tab-fields")
    chromium.press("ARROW_RIGHT")
    assert chromium.active("id") == "form-tab-json"
    chromium.press("TAB")
    chromium.press("TAB")
    assert chromium.active("aria-label") == "Arguments as JSON"
    chromium.run("document.activeElement.value = '{'")
    chromium.focus("#form-tab-json")
    chromium.press("ARROW_LEFT")
    assert chromium.wait("#form-tab-json").get_attribute("aria-selected") == "true"
    assert "This is not JSON" in chromium.wait(".problems").text
