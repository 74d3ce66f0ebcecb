"""The sandbox's side of network access: loopback listeners, the HTTP proxy, and connections through the host."""
