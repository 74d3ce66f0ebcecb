"""The package ``toolc.guest.network``."""
