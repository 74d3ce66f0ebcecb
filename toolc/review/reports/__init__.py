"""A difference as text: for a terminal, for a pull request, for programs. The same bytes each time."""
