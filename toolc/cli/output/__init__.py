"""Terminal output of the commands: results, progress, prompts, tools and errors."""
