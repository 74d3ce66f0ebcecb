import pytest

from toolc.compiler.text_analysis.docstrings import read_docstring

GOOGLE = """Look for pages.

    Use it for news. Do not use it
    for arithmetic.

    Args:
        query: What to look for,
            in plain words.
        limit (int): How many pages.

    Returns:
        query: no argument at all.
    """
SPHINX = """Look for pages.

    :param query: What to look for,
        in plain words.
    :param int limit: How many pages.
    :returns: pages
    """


@pytest.mark.parametrize(
    ("text", "more"), [(GOOGLE, "\n\nUse it for news. Do not use it for arithmetic."), (SPHINX, "")]
)
def test_google_and_sphinx_style_are_parsed(text: str, more: str) -> None:
    found = read_docstring(text)
    assert found.description == f"Look for pages.{more}"
    assert found.arguments == {"query": "What to look for, in plain words.", "limit": "How many pages."}


def test_other_styles_are_all_description() -> None:
    assert read_docstring("One: two.\nThree.").description == "One: two. Three."
    assert read_docstring(None).description == ""
