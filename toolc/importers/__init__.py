"""Specs made of what other systems say of their tools: one pure file per kind."""
