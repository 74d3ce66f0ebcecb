"""Sandbox engines: the Docker and OCI (runc) backends, and what they share."""
