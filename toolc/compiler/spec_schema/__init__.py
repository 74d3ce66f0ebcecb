"""The package ``toolc.compiler.spec_schema``."""
