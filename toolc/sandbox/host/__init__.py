"""What the engines use of this host: control groups, the kernel, owners, the janitor and the store."""
