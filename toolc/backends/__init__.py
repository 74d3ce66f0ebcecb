"""How a tool's backend becomes a plan, and what came of it a result: one pure file per kind."""
