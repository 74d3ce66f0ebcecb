"""Chromium, for the tests of the page."""
