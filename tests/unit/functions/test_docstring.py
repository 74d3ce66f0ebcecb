from toolc.functions.type_hints import read_docstring

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


def test_google_style_is_parsed() -> None:
    found = read_docstring(GOOGLE)
    assert found.description == "Look for pages.\n\nUse it for news. Do not use it for arithmetic."
    assert found.arguments == {"query": "What to look for, in plain words.", "limit": "How many pages."}


def test_sphinx_style_is_parsed() -> None:
    found = read_docstring(SPHINX)
    assert found.description == "Look for pages."
    assert found.arguments == {"query": "What to look for, in plain words.", "limit": "How many pages."}


def test_other_styles_are_all_description() -> None:
    assert read_docstring("One: two.\nThree.").description == "One: two. Three."
    assert read_docstring(None).description == ""
