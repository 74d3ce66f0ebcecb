"""From spec files to a registry. Reads text, never runs a tool, never looks at the environment."""
