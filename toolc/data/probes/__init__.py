"""Tests of a sandbox: attempts to break out of it, to exceed its limits, and to find traces of other calls."""
