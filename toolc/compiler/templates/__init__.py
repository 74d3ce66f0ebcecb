"""Parse and check templates and expressions in specs."""
