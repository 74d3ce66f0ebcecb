"""Chromium, driven by Selenium, without a window. `.ci/with-chromium` installs it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from project.paths import ROOT

SHOTS: Final = ROOT / "build" / "page"
"""Where screenshots are kept."""

WIDTHS: Final = {"narrow": (360, 900), "medium": (1024, 900), "wide": (1920, 1080), "huge": (3840, 2160)}
THEMES: Final = ("light", "dark")
NODE_MODULES: Final = os.environ.get("TOOLC_NODE_MODULES", "")
HAS_BROWSER: Final = bool(shutil.which("chromium") and shutil.which("chromedriver"))

MAX_SECONDS: Final = 240
"""How long a test waits for what comes, in seconds. A busy machine needs minutes for what takes seconds elsewhere."""

KEYS: Final = {
    "ARROW_DOWN": "\ue015", "ARROW_LEFT": "\ue012", "ARROW_RIGHT": "\ue014", "END": "\ue010", "ENTER": "\ue007",
    "TAB": "\ue004",
}  # fmt: skip
"""The characters for keys in WebDriver."""

_CONTROL: Final = "\ue009"

_AXE: Final = (
    "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations))"
)


class Browser:
    """A browser with one page. ``driver`` is that of Selenium."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def look(self, width: str, theme: str) -> None:
        """Set the size of the window and the color scheme."""
        size = dict(zip(("width", "height"), WIDTHS[width], strict=True))
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {**size, "deviceScaleFactor": 1, "mobile": False}
        )
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, url: str, selector: str = "main:not([aria-busy]) h1") -> None:
        """Open a page, and wait until it has an element."""
        self.driver.get("about:blank")
        self.driver.get(url)
        self.wait(selector)

    def wait(self, selector: str) -> Any:
        """Return the first element that matches, when there is one."""
        from selenium.webdriver.support.wait import WebDriverWait

        found: Any = WebDriverWait(self.driver, MAX_SECONDS).until(lambda _: self.all(selector) or None, selector)
        return found[0]

    def all(self, selector: str) -> list[Any]:
        """Return the elements that match."""
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def texts(self, selector: str) -> list[str]:
        """Return the texts of the elements that match."""
        return [each.text for each in self.all(selector)]

    def run(self, script: str, *arguments: object) -> Any:
        """Return the result of a script."""
        return self.driver.execute_script(script, *arguments)

    def press(self, key: str, *, control: bool = False) -> None:
        """Press a key where the focus is."""
        from selenium.webdriver import ActionChains

        pressed = KEYS.get(key, key)
        keys = ActionChains(self.driver)
        (keys.key_down(_CONTROL).send_keys(pressed).key_up(_CONTROL) if control else keys.send_keys(pressed)).perform()

    def focus(self, selector: str) -> None:
        """Press Tab until an element has the focus."""
        self.wait(selector)
        for _ in range(200):
            if self.run("return document.activeElement.matches(arguments[0])", selector):
                return
            self.press("TAB")
        raise AssertionError(f"Tab does not reach {selector}")

    def active(self, name: str) -> Any:
        """Return an attribute or a property of the element that has the focus."""
        return self.run(
            "const each = document.activeElement; return each.getAttribute(arguments[0]) ?? each[arguments[0]]", name
        )

    def download_to(self, folder: Path) -> None:
        """Write downloads to a folder from now on."""
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})

    def downloaded(self, folder: Path) -> Path:
        """Return the only file in a folder of downloads, when it is complete."""
        from selenium.webdriver.support.wait import WebDriverWait

        found: list[Path] = WebDriverWait(self.driver, MAX_SECONDS).until(
            lambda _: [each for each in folder.glob("[!.]*") if each.suffix != ".crdownload" and each.stat().st_size]
        )
        (file,) = found
        return file

    def violations(self) -> list[str]:
        """Return what axe-core says is not accessible in the page."""
        self.run((Path(NODE_MODULES) / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(_AXE)
        return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]

    def shoot(self, name: str) -> None:
        """Keep a screenshot."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(SHOTS / f"{name}.png"))

    def errors(self) -> list[str]:
        """Return what the browser reported since the last call, such as scripts that it refused."""
        return [each["message"] for each in self.driver.get_log("browser")]


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser, and end it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(MAX_SECONDS)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
