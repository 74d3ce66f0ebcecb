"""Sandbox engines, daemons and images of tests, and what is visible in their sandboxes."""
