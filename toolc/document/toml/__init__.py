"""The package ``toolc.document.toml``."""
