"""What the table of figures says of a budget that was missed."""

from __future__ import annotations

import pytest
from bench.figures import Figure, at_least, at_most, over_bare, pace_of, table, within_pace

PACE = pace_of({"own": 90.0, "ls": 80.0, "free": 70.0}, {"own": 50, "ls": 50, "free": 50})


@pytest.mark.parametrize(
    ("figure", "paced"),
    [
        (over_bare("hook", 22.0, 13.0, 6), True),  # 9 ms over bare, and 1.6 x 6 = 9.6
        (over_bare("hook", 23.0, 13.0, 6), False),
        (over_bare("hook", 18.0, 13.0, 6), False),  # it holds as it is
        (at_most("call", 1.5, 1, "ms"), True),
        (at_most("call", 1.7, 1, "ms"), False),
        (at_most("reply", 300, 240, "B"), False),  # bytes do not depend on the machine
        (at_least("calls", 700, 1_000, "/s"), True),
        (at_least("calls", 500, 1_000, "/s"), False),
        (at_least("calls", 0, 1_000, "/s"), False),
    ],
)
def test_a_missed_time_is_put_down_to_the_machine_as_far_as_its_pace_goes(figure: Figure, paced: bool) -> None:
    assert PACE.pace == 1.6
    assert within_pace(figure, [PACE, figure]) == paced
    assert not within_pace(figure, [figure]), "nothing is known of the machine"


def test_what_was_missed_counts_as_missed() -> None:
    shown = table([PACE, over_bare("slow", 22.0, 13.0, 6), over_bare("quick", 15.0, 13.0, 6)])
    assert shown.endswith("1 of 2 within budget, 1 more at the pace of this machine")
    assert "OVER, at this pace within" in shown
