"""The user's own configuration and secrets."""
