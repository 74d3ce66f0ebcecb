"""The package ``toolc.compiler.cache``."""
