"""The package ``toolc.document.yaml``."""
