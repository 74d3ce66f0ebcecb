"""The page with the keyboard alone: every control is reached, shows that it has the focus, and does its work."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers.chromium import Browser
from calls.real_http import RealServer, commit, prepare, real_server, toolc

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
  - name: wipe_file
    description: Remove a file. Use it only after a person has confirmed it.
    confirm: true
    parameters: {path: {type: string, description: The file}}
    backend: {shell: {argv: [echo, wiped, "{{ path }}"]}}
  - {name: other_tool, description: Print a word. Use it in tests., backend: {shell: {argv: [echo]}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a workspace, and with a description that has changed since the last commit."""
    folder = tmp_path_factory.mktemp("keys")
    prepare(folder)
    specs = folder / "specs" / "tools.yaml"
    specs.write_text(SPECS)
    (folder / "work").mkdir()
    commit(folder, "specs")
    specs.write_text(SPECS.replace("Print a word", "Print an empty line"))
    toolc(folder, "token", "create", "ann", "--role", "reviewer")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RealServer]:
    with real_server(folder, "--workspace", "work", "--confirm", "api") as started:
        yield started


def tab_reaches_every_control(chromium: Browser) -> None:
    """Assert that Tab reaches each control of the view, and that the one with the focus is marked.

    Tab is pressed until it has gone round. The controls are not counted before, since what a `<details>` holds is
    written some time after the click that opens it.
    """
    for each in chromium.all("main summary"):
        each.click()
    chromium.run("document.activeElement.blur(); window.seen = new Set(); window.unmarked = []")
    for _ in range(500):
        chromium.press("TAB")
        is_round = chromium.run("""
            const active = document.activeElement;
            const isRound = active !== document.body && seen.has(active);
            seen.add(active);
            const outlines = [null, '::after'].map((each) => getComputedStyle(active, each).outlineStyle);
            if (active !== document.body && outlines.every((each) => each === 'none')) {
              unmarked.push(active.outerHTML.slice(0, 99));
            }
            return isRound;
        """)
        if is_round:
            break
    missed = chromium.run(
        "return [...document.querySelectorAll(arguments[0])].filter((each) => each.tabIndex === 0 && !each.disabled "
        "&& each.checkVisibility({visibilityProperty: true}) && !seen.has(each)).map((each) => each.outerHTML)",
        CONTROLS,
    )
    assert missed == []
    assert chromium.run("return unmarked") == []


def keep_announcements(chromium: Browser) -> None:
    """Keep what the page says to screen readers from now on: it shows each text for some seconds only."""
    chromium.run("""
        window.announced = [];
        const keep = (change) => announced.push(...[...change.addedNodes].map((each) => each.data));
        const observer = new MutationObserver((changes) => changes.forEach(keep));
        observer.observe(document.getElementById("status"), {childList: true});
    """)


@pytest.mark.parametrize("view", ["", "tools/add_numbers", "try/add_numbers", "history", "sign-in/ann/x", "no-view"])
def test_tab_reaches_every_control_and_shows_where_it_is(view: str, server: RealServer, chromium: Browser) -> None:
    chromium.look("wide", "light")
    chromium.open(f"{server.url}/#/{view}", "main:not([aria-busy]) :is(h1, h2)")
    tab_reaches_every_control(chromium)


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
    keep_announcements(chromium)
    chromium.press("ENTER")
    chromium.wait(".history")
    assert chromium.active("id") == "place"
    assert chromium.run("return announced") == ["History · toolc"]


def test_an_item_that_is_added_has_the_focus_and_one_that_is_removed_gives_it_back(
    server: RealServer, chromium: Browser
) -> None:
    chromium.open(f"{server.url}/#/try/add_numbers", ".trial")
    chromium.focus(".optional:nth-child(2) > label > input")
    chromium.press(" ")
    assert "Add to names" in chromium.run("return document.activeElement.textContent")
    chromium.press("ENTER")
    assert chromium.active("tagName") == "TEXTAREA"
    chromium.focus(".items + button")
    chromium.press("ENTER")
    chromium.press("b")
    assert chromium.texts(".items label") == ["names 0", "names 1"]
    chromium.run("document.querySelector('.items textarea').focus()")
    chromium.press("TAB")
    keep_announcements(chromium)
    chromium.press("ENTER")
    assert chromium.texts(".items label") == ["names 0"]
    assert chromium.wait(".items textarea").get_property("value") == "b"
    assert "Add to names" in chromium.run("return document.activeElement.textContent")
    assert chromium.run("return announced") == ["Item removed"]


def test_the_tabs_of_the_form_are_one_stop_and_change_with_arrows(server: RealServer, chromium: Browser) -> None:
    chromium.open(f"{server.url}/#/try/add_numbers", ".trial")
    chromium.focus(".form [role=tab]:first-child")
    chromium.press("ARROW_RIGHT")
    assert chromium.active("textContent") == "JSON"
    chromium.press("TAB")
    chromium.press("TAB")
    assert chromium.active("aria-label") == "Arguments as JSON"
    chromium.run("document.activeElement.value = '{'")
    chromium.focus(".form [role=tab]:last-child")
    chromium.press("ARROW_LEFT")
    assert chromium.wait(".form [role=tab]:last-child").get_attribute("aria-selected") == "true"
    assert "This is not JSON" in chromium.wait(".problems").text


def test_a_reviewer_signs_in_reviews_and_confirms_with_keys_alone(
    folder: Path, server: RealServer, chromium: Browser
) -> None:
    chromium.open(toolc(folder, "token", "link", "ann").strip(), "button.primary")
    chromium.press("ENTER")
    chromium.wait(".row")
    chromium.focus("a[href='#/review']")
    chromium.press("ENTER")
    chromium.wait(".change")
    assert chromium.active("id") == "place"
    tab_reaches_every_control(chromium)
    chromium.focus("#base")
    chromium.press("HEAD~9")
    chromium.press("ENTER")
    assert "is not a commit" in chromium.wait(".notice").text
    call = chromium.run(
        "return fetch('api/v1/tools/wipe_file', {method: 'POST', headers: {Prefer: 'respond-async'}, "
        'body: \'{"path": "a"}\'}).then((each) => each.json())'
    )
    chromium.focus("a[href='#/confirmations']")
    chromium.press("ENTER")
    chromium.wait(".question")
    tab_reaches_every_control(chromium)
    chromium.focus(".question button.quiet")
    chromium.press("ENTER")
    chromium.wait(".question .form")
    assert chromium.active("tagName") == "TEXTAREA"
    chromium.press("bc")
    chromium.focus(".question button.primary")
    chromium.press("ENTER")
    chromium.wait("#place:focus .notice:not([hidden])")
    chromium.focus("#client button")
    chromium.press("ENTER")
    chromium.wait("#client:not(:has(button)) .icon")
    chromium.open(f"{server.url}/#/calls/{call['id']}", ".result .badge")
    assert chromium.wait(".result pre").text.startswith("wiped ")
    assert "bc" in chromium.wait(".result pre").text
