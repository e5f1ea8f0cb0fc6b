"""One adapter for each agent product: its hook payloads into `ToolCall`, a decision back into its dialect.

An adapter is a module with two functions. `read(payload, environ)` never raises: what cannot be read becomes the call's
`problem`, one sentence, and everything else is kept. `answer(call, decision)` gives stdout, stderr and the exit status.
Adapters hold no rule: they never ask a room, and look at nothing but what they are given.
"""

from __future__ import annotations
