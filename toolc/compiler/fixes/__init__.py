"""Edit spec files: apply fixes, and update the expectations of tests."""
