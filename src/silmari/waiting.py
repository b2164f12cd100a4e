"""How long other processes are waited for that work on the same."""

from __future__ import annotations

import time
from dataclasses import dataclass

# From the last thing that they did, in seconds.
PATIENCE = 600.0
LOOK_AGAIN = 0.25


@dataclass(slots=True)
class Patience:
    """Lasts as long as what others have to do becomes less now and then."""

    _left: int = -1
    _since: float = 0.0

    def lasts(self, left: int) -> bool:
        """Whether to look again after a moment.

        Args:
            left: How much waits now.
        """
        if left != self._left:
            self._left, self._since = left, time.monotonic()
        return time.monotonic() - self._since < PATIENCE
