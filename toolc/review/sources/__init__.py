"""The package ``toolc.review.sources``."""
