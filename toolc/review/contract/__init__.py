"""What callers may send and get: the two schemas of a tool compared keyword by keyword, and the tool itself.

Input is contravariant: what was accepted must still be. Output is covariant: what may be returned was
promised before. So a keyword that moved is told once, as narrower or wider, and graded by its side. The rules
follow oasdiff's (``checker/rules.go``) but where docs/guides/reviewing-changes.md says otherwise.
"""
