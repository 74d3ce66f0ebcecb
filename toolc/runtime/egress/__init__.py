"""The network access of a call: allow-list, name lookup, and forwarding of connections."""
