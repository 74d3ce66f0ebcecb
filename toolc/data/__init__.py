"""Files shipped with toolc: rule pages, advisories, probes and schemas."""
