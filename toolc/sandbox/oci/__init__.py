"""The package ``toolc.sandbox.oci``."""
