"""The package ``toolc.providers.json_schema``."""
