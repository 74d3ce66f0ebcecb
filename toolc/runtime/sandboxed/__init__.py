"""The package ``toolc.runtime.sandboxed``."""
