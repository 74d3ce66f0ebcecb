"""Words for the tests."""


def shout(text: str) -> str:
    return text.upper()
