"""The package ``toolc.compiler.decode``."""
