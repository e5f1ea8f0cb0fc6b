"""Hosts that die at a given step, each a fork of this program, which has loaded everything.

Reads a number a line: after so many lines of our code since it was first asked, a host kills itself as `kill -9` would.
Says `ready PID` when it listens, and `ended` when it is gone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

import clearway
from clearway.config import Settings
from clearway.surfaces import host, host_full

HOUSE = os.path.dirname(clearway.__file__)


class Death:
    """Counts lines of our code, in all threads, from the first question on."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.has_begun = False

    def follow(self, frame: FrameType, event: str, _about: Any) -> Any:
        if not frame.f_code.co_filename.startswith(HOUSE):
            return None
        if event == "call" and frame.f_code.co_name == "_greet":
            self.has_begun = True
        if event == "line" and self.has_begun:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.follow


def serve(steps: int) -> None:
    death = Death(steps)
    follow: Any = death.follow
    threading.settrace(follow)
    sys.settrace(follow)

    def hear(said: str) -> None:
        if said.startswith("host"):
            print("ready", os.getpid(), flush=True)

    host.run(Settings(dict(os.environ)), hear)


def main() -> None:
    assert host_full
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                serve(int(line))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
