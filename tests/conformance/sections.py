"""The parts of a document that a program writes, between two markers each; the rest is written by hand and stays.

    <!-- written by make conformance, from here: processes -->
    ...
    <!-- written by make conformance, to here: processes -->
"""
import pathlib

MARKER = "<!-- written by make conformance, {side} here: {name} -->\n"


class Missing(ValueError):
    """The document has no place for such a part."""


def bounds(text, name):
    """Where the part begins and ends, without its markers."""
    first, last = (MARKER.format(side=side, name=name) for side in ("from", "to"))
    if text.count(first) != 1 or text.count(last) != 1 or text.index(first) > text.index(last):
        raise Missing(f"wants these two lines, once each and in this order: {first.strip()} {last.strip()}")
    return text.index(first) + len(first), text.index(last)


def replaced(text, name, part):
    begin, end = bounds(text, name)
    return text[:begin] + part.rstrip("\n") + "\n\n" + text[end:]  # or it would end a table


def check(path, name):
    """Raises Missing if `write` would: before an hour's work, not after it."""
    try:
        bounds(pathlib.Path(path).read_text(encoding="utf-8"), name)
    except (OSError, Missing) as error:
        raise Missing(f"{path}: {error}") from error


def write(path, name, part):
    path = pathlib.Path(path)
    path.write_text(replaced(path.read_text(encoding="utf-8"), name, part), encoding="utf-8")
