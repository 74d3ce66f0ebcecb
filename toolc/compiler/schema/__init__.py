"""The package ``toolc.compiler.schema``."""
