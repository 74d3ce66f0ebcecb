"""One file per provider: how a tool is declared to it."""
