"""Output of tools: streams, progress, and truncation."""
