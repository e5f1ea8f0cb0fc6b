"""What a session works on now, for whoever only asks: claiming and finishing (attempts.py) are much more."""

from __future__ import annotations

from clearway import lapse
from clearway.db import statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db import Row
    from clearway.db.tx import Tx

SQL = statements(__file__)


def attempt(tx: Tx) -> Row | None:
    """The attempt that the calling session works on: the last it claimed or acted on."""
    return tx.one(SQL.attempt, session=tx.caller.key, gone=lapse.gone(tx)[1])
