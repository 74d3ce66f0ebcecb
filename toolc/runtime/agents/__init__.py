"""Sub-agents: a model that answers a call and may call tools."""
