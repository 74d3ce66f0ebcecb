"""The host's side of the stream to a sandbox."""
