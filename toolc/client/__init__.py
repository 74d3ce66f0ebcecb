"""The Python library: registries, the executor, provider messages and serialization."""
