"""The oci engine: sandboxes without a daemon, run by runc."""
