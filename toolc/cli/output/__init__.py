"""The package ``toolc.cli.output``."""
