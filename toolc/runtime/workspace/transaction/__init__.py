"""The package ``toolc.runtime.workspace.transaction``."""
