"""From a validated call to its result, through a sandbox. Never reads a spec file."""
