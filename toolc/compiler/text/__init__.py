"""The package ``toolc.compiler.text``."""
