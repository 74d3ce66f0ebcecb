"""The types of a tool's spec, with all defaults filled in."""
