"""The package ``toolc.guest.http``."""
