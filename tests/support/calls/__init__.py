"""Tools that tests call, on a fake engine or in a sandbox, and the servers that they use."""
