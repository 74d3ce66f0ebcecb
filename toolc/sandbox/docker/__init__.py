"""The docker engine: sandboxes as containers of a Docker or Podman daemon."""
