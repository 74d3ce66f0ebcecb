"""Validates values against JSON Schemas in bounded time, for the compiler and for every call."""
