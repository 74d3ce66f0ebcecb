"""Calls that consist of calls of other tools."""
