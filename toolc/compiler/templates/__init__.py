"""The package ``toolc.compiler.templates``."""
