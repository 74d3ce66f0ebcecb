"""The package ``toolc.data.probes``."""
