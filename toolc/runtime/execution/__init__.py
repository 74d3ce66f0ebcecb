"""Run calls: single calls, batches, and calls from ``asyncio``."""
