"""The program that runs inside a sandbox: a supervisor and its worker. The host sends it as source at start.

It uses only the standard library, supports Python 3.9 and later, and imports no other package of toolc.
"""
