"""Scripted models, and the wire formats and SDKs of providers."""
