"""Programs that try to break out of a sandbox, to test its isolation."""
