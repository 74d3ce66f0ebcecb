"""What tools may be at all, whoever wrote them: the rules of a project or of a whole company, apart from any spec.

Pure: a policy is parsed by ``toolc.compiler.project.policy``, and held against what a call may do
(``toolc.model.permissions``), so that a composite counts with all that its steps bring.
"""
