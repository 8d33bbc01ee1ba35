"""The certificate: of all plans within named levers those worth having, or the proof that there is none.

A planner above the engine: `levers` says what may be pulled and how far, `playing` plays one plan, `search` looks at all of them,
`told` puts what was found into words and steps. docs/decisions/0023 says what "proven" covers.
"""
