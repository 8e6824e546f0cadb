"""Whether two ways differ, by runs in pairs: one way and the other, one after the other."""

import math
import statistics
from collections.abc import Sequence


def order(count: int) -> int | None:
    """Which of `count` sorted differences bounds their median from below, counted from 0, with 95 % confidence, so that
    the same from the end bounds it from above; None if they are too few. By the signs alone, so that no distribution is
    assumed: P(at most k of n below the median) = sum of C(n, i) / 2^n.
    """
    rank, tail = None, 0.0
    for number in range(count // 2):
        tail += math.comb(count, number) / 2 ** count
        if 2 * tail > 0.05:
            break
        rank = number
    return rank


def difference(pairs: Sequence[tuple[float, float]], unit: str) -> str:
    """The median difference of `pairs` (without, with), and where it lies with 95 % confidence, if they are enough."""
    differences = sorted(second - first for first, second in pairs)
    words = f"{statistics.median(differences):+.2f} {unit}".rstrip()
    rank = order(len(differences))
    return words if rank is None else f"{words} ({differences[rank]:+.2f} to {differences[-1 - rank]:+.2f})"


def verdict(pairs: Sequence[tuple[float, float]], unit: str = "ms") -> str:
    """In words: the median difference, and whether it is more than noise. `pairs` are (without, with)."""
    differences = sorted(second - first for first, second in pairs)
    median = statistics.median(differences)
    noise = statistics.median(abs(one - next_) for side in zip(*pairs) for one, next_ in zip(side, side[1:])) \
        if len(pairs) > 1 else None
    words = f"difference {median:+.2f} {unit}"
    if noise is not None:
        words += f"; runs of one kind differ by {noise:.2f} {unit} (median)"
    rank = order(len(differences))
    if rank is None:
        return f"{words}. {len(pairs)} {'pair is' if len(pairs) == 1 else 'pairs are'} too few to tell: 6 are needed"
    low, high = differences[rank], differences[-1 - rank]
    interval = f"between {low:+.2f} and {high:+.2f} {unit} with 95 % confidence"
    if low <= 0 <= high:
        return f"{words}. No difference beyond the noise: {interval}"
    return f"{words}. {'Slower' if median > 0 else 'Faster'} beyond the noise: {interval}"
