"""The package ``toolc.cli.commands``."""
