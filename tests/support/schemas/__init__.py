"""Random and complete JSON Schemas, patterns and JSON texts."""
