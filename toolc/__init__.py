"""toolc: declare a tool once, compile it for every provider, run each call in a disposable sandbox."""
