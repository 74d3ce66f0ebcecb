"""The package ``toolc.model.spec``."""
