"""Secrets of a call: their values, their encodings, and their removal from all output."""
