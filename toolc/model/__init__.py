"""The types that compiler, runtime and review share: specs, plans, results, findings and the registry format."""
