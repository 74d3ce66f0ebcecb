"""Functions of the embedding program as tools: they run in its own process, beside the compiled ones."""
