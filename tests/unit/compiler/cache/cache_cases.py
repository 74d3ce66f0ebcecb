"""Helpers of the tests of caches: files, and the results of checks with and without a cache."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from hypothesis import strategies as st

from toolc.compiler.cache.answers import check_specs
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.reporters import FORMATS, render
from toolc.reporters.report_input import Report


def write(path: str | Path, text: str | None) -> None:
    """Write a file and its folder, or remove the file if ``text`` is None."""
    if text is None:
        Path(path).unlink(missing_ok=True)
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


@st.composite
def file_edits(
    draw: st.DrawFn, files: Mapping[str, str], edits: Sequence[tuple[str, str]], *others: str
) -> tuple[str, str | None]:
    """Return a file and its new text: its text with some edits, one of ``others``, or None."""
    path = draw(st.sampled_from([*files]))
    text = files[path]
    for before, after in draw(st.lists(st.sampled_from(edits), max_size=2)):
        text = text.replace(before, after)
    return path, draw(st.sampled_from([text] * 6 + [None, *others]))


def reports(diagnostics: Diagnostics) -> list[str]:
    """Return the findings in every format, and their fixes."""
    report = Report(diagnostics=diagnostics, version="1", folder=".", color=False)
    return [*(render(report, each) for each in FORMATS), *(repr(each.fix) for each in diagnostics.sorted())]


def result(*, cached: bool, settings: Settings = NO_SETTINGS) -> list[str]:
    """Return the number of tools in the folder ``specs`` and all findings, or the error."""
    try:
        if cached:
            checked = check_specs([Path("specs")], settings)
            return [str(checked.count), *reports(checked.diagnostics)]
        compiled = compile_specs([Path("specs")], settings)
        return [str(len(compiled.tools)), *reports(compiled.diagnostics)]
    except UsageError as error:
        return [str(error)]


def assert_same_as_without_cache(settings: Settings = NO_SETTINGS) -> None:
    assert result(cached=True, settings=settings) == result(cached=False, settings=settings)
