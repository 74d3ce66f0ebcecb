"""What runs inside the sandbox: a supervisor and its worker, sent as source at start.

Standard library only, Python 3.9 and later; imports nothing of toolc but this package.
"""
