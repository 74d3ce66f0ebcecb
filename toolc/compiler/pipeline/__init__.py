"""The package ``toolc.compiler.pipeline``."""
