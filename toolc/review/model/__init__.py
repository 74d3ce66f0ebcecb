"""The package ``toolc.review.model``."""
