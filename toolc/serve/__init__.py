"""How a registry is offered to clients: one file per protocol."""
