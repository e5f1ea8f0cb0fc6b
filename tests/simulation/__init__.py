"""Seeded worlds: agents that crash, forget, retry and race under a jumping clock, and the rules that must hold anyway.

Everything that happens in a world comes from its seed: who does what and when, every id, token and death. So a world
that breaks a rule can be played again, cut down to the few steps that matter, and kept as a named test.
"""
