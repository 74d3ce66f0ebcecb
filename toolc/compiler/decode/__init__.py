"""Decode the nodes of a spec into the types of ``toolc.model.spec``."""
