"""Words for the tests."""


def shout(text):
    return text.upper()
