"""Project files: how they are found and decoded, and how they apply to specs."""
