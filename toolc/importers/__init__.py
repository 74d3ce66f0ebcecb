"""The package ``toolc.importers``."""
