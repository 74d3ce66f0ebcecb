"""Search and compare texts: near duplicates and secrets."""
