"""The package ``toolc.compiler.fixes``."""
