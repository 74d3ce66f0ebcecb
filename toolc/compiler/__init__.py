"""The compiler: turns spec files into a registry.

It only reads text. It never runs a tool and never reads environment variables.
"""
