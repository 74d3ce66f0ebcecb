"""Check the JSON Schemas in specs: parameters, dialects, references and patterns."""
