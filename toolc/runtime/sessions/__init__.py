"""Sandboxes that serve several calls."""
