"""What can be wrong with a tool that decoded well: one file per check, in one table."""
