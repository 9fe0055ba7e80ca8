"""What Meantime says of each rank: in a list of ranks those that do the same have one line."""

import re


def rank_lines(text):
    """The list as {rank: what it does}."""
    found = {}
    for ranks, what in re.findall(r"^  ranks? (\d[\d, -]*)(?: \(pid [^)]*\)|: each) (.*)$", text, re.M):
        for piece in ranks.split(", "):
            first, _, last = piece.partition("-")
            found.update({rank: what for rank in range(int(first), int(last or first) + 1)})
    return found
