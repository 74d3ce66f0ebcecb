"""How findings are printed: one file per format."""
