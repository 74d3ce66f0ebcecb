"""Sign-in, calls, history and confirmations in Chromium, with real calls of hostile tools."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers.chromium import THEMES, WIDTHS, Browser
from calls.real_http import RealServer, prepare, real_server, toolc

HOSTILE = "<img src=x onerror=pwned=1><script>pwned=1</script>"
SPECS = f"""\
toolc: 1
tools:
  - name: draw
    label: "{HOSTILE}"
    description: "Return an image and report progress. {HOSTILE}"
    parameters:
      text: {{type: string, minLength: 2, maxLength: 200, description: "{HOSTILE}"}}
      size: {{type: integer, minimum: 1, maximum: 9, default: 3, description: The size}}
      point: {{type: object, properties: {{x: {{type: number}}}}, required: [x], optional: true, description: A point}}
      either: {{anyOf: [{{type: integer}}, {{type: "null"}}], optional: true, description: A number or nothing}}
    sandbox: {{network: {{allow: ["public:443"]}}}}
    backend:
      python:
        code: |
          import base64, sys, urllib.request
          def draw(ctx, text, size=3, point=None, either=None):
              ctx.progress(50, text)
              print(text, file=sys.stderr)
              try:
                  urllib.request.urlopen("http://a.example:25/")
              except OSError:
                  pass
              yield text
              yield base64.b64decode("R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==")
  - name: nap
    description: Sleep for some seconds. Use it for calls that take long.
    parameters: {{}}
    backend:
      python:
        code: |
          import time
          def nap(ctx):
              ctx.progress(10, "working \\u202e")
              time.sleep(300)
    sandbox: {{limits: {{timeout: 10m}}}}
  - name: wipe
    description: Remove a file. Use it only after a person has confirmed it.
    confirm: true
    parameters: {{path: {{type: string, maxLength: 200, description: "The file, e.g. 'a.txt'"}}}}
    backend: {{shell: {{argv: [echo, wiped, "{{{{ path }}}}"]}}}}
    sandbox: {{limits: {{timeout: 10m}}}}
  - name: sort_file
    description: Sort the lines of a file in the workspace. Use it for lists.
    parameters: {{path: {{type: string, maxLength: 200, description: "The file, e.g. 'data/a.txt'"}}}}
    backend: {{shell: {{argv: [sort, "{{{{ path }}}}"]}}}}
    result: {{files: ["{{{{ path }}}}"]}}
    sandbox: {{workspace: {{mode: transaction, commit: success, writes: ["data/**"]}}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    prepare(folder)
    (folder / "specs" / "tools.yaml").write_text(SPECS)
    toolc(folder, "token", "create", "ann", "--role", "reviewer")
    (folder / "work" / "data").mkdir(parents=True)
    (folder / "downloads").mkdir()
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RealServer]:
    with real_server(folder, "--confirm", "api", "--workspace", "work") as started:
        yield started


def run_button(page: Browser) -> None:
    page.wait(".trial button.primary").click()


def ended(page: Browser, outcome: str) -> None:
    """Wait until the call has ended with this outcome."""
    page.wait(".result .badge")
    assert page.wait(".state").text == outcome


def is_harmless(page: Browser, origin: str) -> None:
    assert page.run("return typeof pwned") == "undefined"
    assert page.all("main script, main iframe, main [onerror], main img:not([src^='blob:'])") == []
    loaded = page.run("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert [each for each in loaded if not each.startswith((origin, f"blob:{origin}"))] == []


def start(page: Browser, tool: str, **arguments: str) -> str:
    """Start a call as the client ``local``, and return its id."""
    identifier: str = page.run(
        "return fetch('api/v1/tools/' + arguments[0], {method: 'POST', headers: {Prefer: 'respond-async'}, "
        "body: arguments[1]}).then((each) => each.json()).then((each) => each.id)",
        tool,
        json.dumps(arguments),
    )
    return identifier


def sign_in(page: Browser, folder: Path, *name: str) -> str:
    link = toolc(folder, "token", "link", *name).strip()
    page.open(link, "button.primary")
    page.wait("button.primary").click()
    page.wait(".row")
    return link


def sign_out(page: Browser) -> None:
    page.wait("#client button").click()
    page.wait("#client:not(:has(button)) .icon")


def test_a_link_signs_in_once_after_a_click_and_leaves_no_secret(
    folder: Path, server: RealServer, chromium: Browser
) -> None:
    link = sign_in(chromium, folder, "ann")
    secret = link.rpartition("/")[2]
    assert chromium.wait("#client").text.startswith("ann, reviewer")
    assert secret not in chromium.run("return location.href + document.title + JSON.stringify({...localStorage})")
    assert chromium.run("return document.cookie") == ""
    chromium.open(link, "button.primary")
    chromium.wait("button.primary").click()
    chromium.wait(".problem:not(:empty)")
    assert chromium.wait(".problem").text.startswith("this link has been used or has expired")
    chromium.open(server.url + "/", "#client button")
    sign_out(chromium)
    chromium.open(server.url + "/", "#client .icon")
    assert chromium.wait("#client").text == "local"
    assert "History" in chromium.wait("#views").text
    assert "Confirmations" not in chromium.wait("#views").text


def test_a_session_that_has_ended_does_not_lock_the_page(folder: Path, server: RealServer, chromium: Browser) -> None:
    toolc(folder, "token", "create", "bob")
    sign_in(chromium, folder, "bob")
    assert chromium.wait("#client").text.startswith("bob")
    toolc(folder, "token", "revoke", "bob")
    chromium.open(server.url + "/", ".row")
    assert chromium.wait("#client").text == "local"


def test_wrong_arguments_are_marked_at_their_fields(server: RealServer, chromium: Browser) -> None:
    chromium.open(f"{server.url}/#/try/draw", ".trial")
    for box in chromium.all(".optional > label > input"):
        box.click()
    chromium.wait(".form textarea").send_keys("x")
    run_button(chromium)
    ended(chromium, "ended: invalid_args")
    texts = chromium.texts(".field .problem > span")
    assert texts == ["expected at least 2 characters, got the string 'x'", *texts[1:]]
    assert "required but missing; expected a number" in texts[-1]
    assert chromium.driver.switch_to.active_element.get_attribute("aria-invalid") == "true"


def test_a_call_is_followed_to_its_result(server: RealServer, chromium: Browser) -> None:
    chromium.open(f"{server.url}/#/try/draw", ".trial")
    chromium.wait(".form textarea").send_keys(HOSTILE)
    run_button(chromium)
    ended(chromium, "ended: success")
    assert chromium.wait(".output .stderr").text.strip() == HOSTILE
    assert "a.example:25" in chromium.wait(".connections").text
    assert "refused" in chromium.wait(".connections").text
    assert HOSTILE in chromium.wait(".result pre").text
    assert HOSTILE in chromium.wait(".result h2 + pre").text  # stderr
    assert chromium.run("return document.querySelector('.result img').naturalWidth") == 1
    for each in chromium.all(".trial summary"):
        each.click()
    chromium.wait(".requests code")  # written after the click
    assert "run" in chromium.texts(".stages th[scope=row]")
    assert [each.split()[0] for each in chromium.texts(".requests code")] == ["curl", "toolc", "from"]
    is_harmless(chromium, server.url)
    chromium.open(f"{server.url}/#/history", ".history")
    assert chromium.texts(".history tbody .badge") == ["success", "invalid_args"]
    chromium.all(".history tbody a")[2].click()
    chromium.wait(".trial")
    assert chromium.wait(".form textarea").get_property("value") == HOSTILE
    chromium.open(f"{server.url}/#/history", ".history")
    chromium.all(".history tbody a")[1].click()
    ended(chromium, "ended: success")
    is_harmless(chromium, server.url)


def test_a_link_signs_in_only_as_the_client_that_it_names(folder: Path, server: RealServer, chromium: Browser) -> None:
    link = toolc(folder, "token", "link", "ann").strip()
    chromium.open(link.replace("/ann/", "/local/"), "button.primary")
    chromium.wait("button.primary").click()
    chromium.wait(".problem:not(:empty)")
    assert chromium.wait(".problem").text.startswith("this link is not for local")
    chromium.open(server.url + "/", "#client .icon")
    assert chromium.wait("#client").text == "local"


def test_a_message_of_a_running_call_shows_hidden_characters(server: RealServer, chromium: Browser) -> None:
    chromium.open(f"{server.url}/#/try/nap", ".trial")
    run_button(chromium)
    chromium.wait(".live progress:not([hidden])")
    assert chromium.wait(".state").text == "working \u2039U+202E\u203a"
    chromium.wait(".cancel").click()
    ended(chromium, "ended: cancelled")


def test_files_are_put_into_the_workspace_and_replaced_only_when_asked(
    folder: Path, server: RealServer, chromium: Browser
) -> None:
    name = "<img src=x onerror=pwned=1>.txt"
    (folder / name).write_text("b\na\n")
    chromium.download_to(folder / "downloads")
    chromium.open(f"{server.url}/#/try/draw", ".trial")
    assert chromium.all(".upload") == []
    chromium.open(f"{server.url}/#/try/sort_file", ".upload")
    chromium.wait(".upload summary").click()
    chooser = chromium.wait(".upload input[type=file]")
    chooser.send_keys(str(folder / name))
    assert "no pattern of 'writes'" in chromium.wait(".uploads li:nth-child(1) .icon ~ span").text
    chromium.wait(".upload input[type=text]").send_keys("data/")
    chooser.send_keys(str(folder / name))
    assert chromium.wait(".uploads li:nth-child(2) .icon ~ span").text == f"data/{name}: written"
    chromium.wait(".form textarea").send_keys(f"data/{name}")
    run_button(chromium)
    ended(chromium, "ended: success")
    assert chromium.wait(".result pre").text == "a\nb"
    assert chromium.texts(".result figure strong") == [f"data/{name}"]
    chromium.run("document.querySelector('.result figure button').click()")
    assert chromium.downloaded(folder / "downloads").read_text() == "b\na\n"
    chromium.run(
        "const data = new DataTransfer(); data.items.add(new File(['z'], arguments[0]));"
        "const event = new DragEvent('drop', {dataTransfer: data, cancelable: true});"
        "document.querySelector('.upload').dispatchEvent(event)",
        name,
    )
    chromium.wait(".uploads li:nth-child(3) button").click()
    chromium.wait(".uploads li:nth-child(3):not(:has(button)) .icon")
    assert chromium.texts(".uploads li:nth-child(3)") == [f"data/{name}: replaced"]
    assert (folder / "work" / "data" / name).read_text() == "z"
    assert chromium.violations() == []
    is_harmless(chromium, server.url)


def test_a_call_is_cancelled(server: RealServer, chromium: Browser) -> None:
    chromium.open(f"{server.url}/#/try/nap", ".trial")
    run_button(chromium)
    chromium.wait(".cancel").click()
    ended(chromium, "ended: cancelled")


def test_a_call_says_that_it_waits_for_a_confirmation(server: RealServer, chromium: Browser) -> None:
    chromium.open(f"{server.url}/#/try/wipe", ".trial")
    chromium.wait(".form textarea").send_keys("a.txt")
    run_button(chromium)
    assert chromium.wait(".state").text == "waiting for a confirmation"
    chromium.wait(".cancel").click()
    ended(chromium, "ended: cancelled")


def test_a_reviewer_changes_and_denies_calls(folder: Path, server: RealServer, chromium: Browser) -> None:
    chromium.open(f"{server.url}/#/try/wipe", ".trial")
    calls = [start(chromium, "wipe", path=f"{HOSTILE}{number}") for number in range(2)]
    sign_in(chromium, folder, "ann")
    chromium.open(f"{server.url}/#/confirmations", ".question:nth-child(2)")
    assert "local wants to call wipe" in chromium.texts(".question h2")
    for each in chromium.all(".question button.quiet"):
        each.click()
    chromium.wait(".question:first-child .form")
    chromium.wait(".question:last-child .form")
    identifiers = chromium.run("return [...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(identifiers) == len(set(identifiers))
    field = chromium.wait(".question .form textarea")
    field.clear()
    field.send_keys("changed")
    assert chromium.violations() == []
    is_harmless(chromium, server.url)
    chromium.wait(".question button.primary").click()
    chromium.wait(".question:only-child .actions input").send_keys("not today")
    chromium.all(".question .actions button")[1].click()
    chromium.wait(".notice:not([hidden])")
    sign_out(chromium)
    results = []
    for each in calls:  # either may have been asked first
        chromium.open(f"{server.url}/#/calls/{each}", ".result .badge")
        results.append(chromium.wait(".result pre").text)
    assert "wiped changed" in results
    assert any("was denied: not today" in each for each in results)


@pytest.mark.parametrize("view", ["try/draw", "try/sort_file", "history", "calls", "confirmations", "sign-in/ann/x"])
def test_every_view_of_calls_is_accessible_and_fits(
    view: str, folder: Path, server: RealServer, chromium: Browser
) -> None:
    chromium.open(server.url + "/", ".row")
    address = f"{view}/{start(chromium, 'draw', text=HOSTILE)}" if view == "calls" else view
    if view == "confirmations":
        start(chromium, "wipe", path=HOSTILE)
        sign_in(chromium, folder, "ann")
    chromium.open(f"{server.url}/#/{address}")
    if view == "calls":
        ended(chromium, "ended: success")
    if view == "confirmations":
        chromium.wait(".question")
    if view == "try/sort_file":
        chromium.wait(".upload summary").click()
    if view == "try/draw":
        chromium.wait(".trial > div > details summary").click()
        for box in chromium.all(".optional > label > input"):
            box.click()
        run_button(chromium)
        ended(chromium, "ended: invalid_args")
    for width in WIDTHS:
        for theme in THEMES:
            chromium.look(width, theme)
            chromium.shoot(f"{view.removesuffix('/ann/x').replace('/', '-')}-{width}-{theme}")
            assert chromium.violations() == [], (width, theme)
            assert chromium.run("return document.documentElement.scrollWidth <= innerWidth"), (width, theme)
