"""The JSON Schemas of specs and project files, and the effective values of a tool."""
