"""What the options of `meantime bench` take: checked before anything is measured, then words for the programs."""
import argparse
import math
import re


def positive(text):
    """A number above 0."""
    if not 0 < number(text) < math.inf:
        raise argparse.ArgumentTypeError(f"a number above 0 is wanted, not '{text}'")
    return text


def numbers(text):
    """Numbers from 0 on, separated by commas."""
    if not all(0 <= number(word) < math.inf for word in text.split(",")):
        raise argparse.ArgumentTypeError(f"numbers from 0 on are wanted, separated by commas, not '{text}'")
    return text


def counts(text):
    """Whole numbers from 1 on, separated by commas."""
    if not all(re.fullmatch("[1-9][0-9]*", word) for word in text.split(",")):
        raise argparse.ArgumentTypeError(f"whole numbers from 1 on are wanted, separated by commas, not '{text}'")
    return text


def wire(text):
    """LATENCY_US:MB_PER_S[:interface], or none"""
    latency, _, speed = text.removesuffix(":interface").partition(":")
    if text != "none" and not (0 <= number(latency) <= 1e6 and 1 <= number(speed or "1") < math.inf):
        raise argparse.ArgumentTypeError(f"LATENCY_US:MB_PER_S[:interface] or none is wanted, not '{text}'")
    return text


def sizes(text):
    """8,4K,1M"""
    if not all(re.fullmatch("[1-9][0-9]*[KMG]?", word) for word in text.split(",")):
        raise argparse.ArgumentTypeError(f"sizes from 1 on are wanted, as in 8,4K,1M, not '{text}'")
    return text


def some_of(*known):
    """Some of these words, separated by commas."""
    def check(text):
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(f"there is no '{word}', only {', '.join(known)}")
        return text
    return check


def number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan
