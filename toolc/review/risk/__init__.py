"""What a call may do that it could not do before: one file per rule, each told with its grade and its line.

Rules look at what a tool has been granted (``toolc.authority``), so that a composite shows what its steps gained.
What no rule explains and still moves the effect digest is told by the last one: nothing changes unseen.
"""
