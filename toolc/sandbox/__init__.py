"""The only place that knows how a sandbox is made: one file per engine, listed here in order of preference."""
