"""The package ``toolc.compiler.project``."""
