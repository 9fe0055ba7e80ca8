"""The constants of the learners and heuristics: what each means, in which unit, and what it scales with. Their values are read
from the source, so that none here is out of date."""
import re

import cases

# heuristic: (constant, or what stands before its number; file under src; meaning; unit; what it scales with)
CONSTANTS = {
    "patience": (
        ("wake_ups_worth_polling", "policy/policy.cpp", "a wait is polled for so long at most", "wake-ups", "the wake-up cost"),
        ("steps_a_wake_up", "policy/policy.cpp", "patience grows by such a part of a wake-up beside its doubling", "parts",
         "the wake-up cost")),
    "few_looks": (
        ("little_patience_ns", "policy/policy.h", "with less patience a call site's waits count as long", "ns", "as patience"),
        (r'"adaptive", +{\d+, +0, +endless}, +', "settings/presets.h", "then so many before the sleep", "looks", ""),
        (r'"adaptive", +{', "settings/presets.h", "else so many", "looks", "")),
    "contention": (
        ("hold_up_ns", "policy/contention.h", "a jump of the clock between two looks: the core was gone", "ns",
         "the kernel's time slices, as they are by default"),
        ("heat_of_one", "policy/contention.h", "two jumps within so many count", "waits", ""),
        ("first_span", "policy/contention.h", "so many are then waited as where cores are shared", "waits", ""),
        ("longest_span", "policy/contention.h", "… at most, as it comes again", "waits", "")),
    "yields": (
        ("most", "policy/yielding.h", "in one wait", "yields", ""),
        (r"sharers \* ", "policy/yielding.h", "a lost slice takes so long for each rank of the CPU", "ns", "ranks a CPU"),
        (r"sharers \* 32'000, ", "policy/yielding.h", "… at least", "ns", "the kernel's time slices"),
        (r"for_gates\(\) { return {", "policy/yielding.h", "… at a gate", "ns", "the kernel's time slices")),
    "yield_skips": (("most_skipped", "policy/yielding.h", "so many waits in a row begin without, at most", "waits", ""),),
    "yield_savings": (
        (r"sharers \* std::int64_t{", "policy/yielding.h", "a wait earns it for each rank of the CPU", "ns", "ranks a CPU"),
        ("most_saved_ns", "policy/yielding.h", "no more is saved", "ns", ""),
        ("most_paid_ns", "policy/yielding.h", "no more is paid for a lost slice", "ns", "")),
    "polling_yields": (
        ("yield_every", "policy/policy.cpp", "one of so many is a yield", "turns", ""),
        ("rare_yield_every", "policy/policy.cpp", "… of who has slept by a timer", "turns", "")),
    "spreading": (
        ("yields_a_look", "policy/spreading.h", "one look at the others' CPUs in so many", "yields", ""),
        ("first_pause_ns", "policy/spreading.cpp", "after the first move none for so long", "ns", ""),
        ("longest_pause_ns", "policy/spreading.cpp", "… at most, as it doubles with each", "ns", "")),
    "test_yields": (
        ("tests_a_turn", "wait/test_calls.cpp", "after so many others run", "looks", ""),
        ("tests_a_turn_in_crowd", "wait/test_calls.cpp", "… where ranks share cores", "looks", ""),
        ("tests_a_turn_of_thread_rank", "wait/test_calls.cpp", "… of a thread rank", "looks", "")),
    "crowd_looks": (
        ("quick_looks", "wait/ladder.cpp", "before a wait is worth a clock", "looks", ""),
        ("quick_looks_in_crowd", "wait/ladder.cpp", "… where ranks share cores", "looks", ""),
        ("fewest_rounds", "wait/ladder.cpp", "… of a thread rank, at least, in each of which the others of its worker have a turn", "looks", "")),
    "naps": (
        ("fewest_quick", "policy/test_loop.h", "as many in vain as a wait polls, this at least, are a series", "looks", "the policy"),
        ("most_quick", "policy/test_loop.h", "… and this at most", "looks", ""),
        ("longest_pause_ns", "policy/test_loop.h", "a longer pause between two looks ends a series", "ns", ""),
        ("longest_cold_pause_ns", "policy/test_loop.h", "… after a nap", "ns", ""),
        ("wake_ups_worth_a_nap", "policy/test_loop.h", "a shorter nap is not worth it", "wake-ups", "the wake-up cost"),
        ("longest_nap_ns", "policy/test_loop.h", "none is longer", "ns", ""),
        ("longest_patience_ns", "policy/test_loop.h", "with a core of its own a rank looks for so long first", "ns", "")),
    "nap_work": (
        ("longest_idle_pause_ns", "policy/test_loop.h", "a longer pause between looks may be work", "ns", "the processor"),
        ("chance_work_ns", "policy/test_loop.h", "so much comes by chance", "ns", ""),
        ("most_work_ns", "policy/test_loop.h", "no more is remembered", "ns", ""),
        ("forgotten_a_test_ns", "policy/test_loop.h", "… of which each look forgets", "ns", "")),
    "windows": (
        ("waits_to_learn", "policy/predictor.cpp", "before the first prediction", "waits", ""),),
    "lateness": (
        ("typical_ns_", "policy/predictor.h", "a timer is so late, until that is learnt", "ns", ""),
        ("margin_ns_", "policy/predictor.h", "it is set so much earlier, until that is learnt", "ns", ""),
        ("most_late_ns", "policy/predictor.cpp", "what is later was somebody else's slice", "ns", "")),
    "route": (
        ("medium_bytes", "match/route.h", "more goes by no cell", "bytes", ""),
        ("handshake_ns", "match/route.h", "of one copy, beside the copy", "ns", ""),
        ("messages_a_trial", "match/route.h", "one in so many tries the slower way", "messages", "")),
    "eager_ring": (
        ("worth_a_ring", "match/eager_ring.cpp", "before a ring is made", "messages", ""),
        ("slots", "match/eager_ring.h", "of a ring", "messages", ""),
        ("ahead_of_sender", "match/eager_ring.cpp", "so far ahead a slot is fetched to be filled", "slots", ""),
        ("ahead_of_receiver", "match/eager_ring.cpp", "… and to be emptied", "slots", ""),
        ("most_adopted", "match/eager_ring.h", "with more unread ones the sender goes by the inbox", "messages", "")),
    "private_receives": (("most", "match/private_receives.h", "are private at a time", "receives", ""),),
    "lanes": (
        ("few_messages", "match/queues.cpp", "up to so many lie in the order of arrival", "messages", ""),
        ("short_turn", "match/queues.cpp", "a turn of one sender while another one has few", "messages", ""),
        ("long_turn", "match/queues.cpp", "… and else", "messages", "")),
    "exposed_alltoall": (
        (r"exposed_alltoall =\s+uses\(\w+::exposed_alltoall\) \? ", "coll/thresholds.h", "a block from this size on is exposed", "bytes", ""),
        ("copies", "node/cross_memory.cpp", "with `memcpy`: if the kernel's takes longer, process ranks deposit", "copies",
         "both are measured"),
        (r"exposed_alltoall_in_host =\s+uses\(\w+::exposed_alltoall\) \? ", "coll/thresholds.h", "… among threads of one host", "bytes", ""),
        (r"exposed_alltoall_past_caches =\s+uses\(\w+::exposed_alltoall\) \? ", "coll/thresholds.h", "… where all does not fit the caches", "bytes", "")),
    "exposed_allgather": ((r"exposed_allgather =\s+uses\(\w+::exposed_allgather\) \? ", "coll/thresholds.h", "from this size on", "bytes",
                        ""),),
    "exposed_bcast": ((r"exposed_bcast =\s+uses\(\w+::exposed_bcast\) \? ", "coll/thresholds.h", "from this size on", "bytes", ""),),
    "exposed_scatter": (("exposed_scatter", "coll/thresholds.h", "from this average on", "bytes", ""),),
    "exposed_inputs": ((r"exposed_round\(\) {\n  return within_segment\(", "coll/thresholds.h", "of a member in one round", "bytes", ""),),
    "past_caches": (
        ("past_caches", "coll/thresholds.h", "from so much in all on", "bytes", "should be the last cache"),),
    "return_savings": (("share", "scheduling/return_savings.h", "one part in so many of the time is saved", "parts", ""),),
    "strays_home": (("tick_ns", "scheduling/monitor.cpp", "between two looks of the monitor", "ns", ""),),
    "warm_up": (("warm_lines", "scheduling/fiber.h", "of a fiber's stack", "lines", ""),),
    "sampling": (
        ("samples_of_one_mean", "policy/sampling.h", "timed before they become rarer", "waits", ""),
        ("longest_mean", "policy/sampling.h", "one is timed in so many, on average, at most", "waits", ""),
        ("long_ns", "policy/sampling.h", "after a longer one each is timed again", "ns", "")),
    "steal": (
        ("wake_ups_worth_moving", "scheduling/balance.cpp", "a rank that will wait so long for its worker moves", "wake-ups", "the wake-up cost"),
        ("short_tick_ns", "scheduling/monitor.cpp", "between two looks of the monitor while a worker sleeps", "ns", "")),
    "wake_up_cost": (
        ("least_wake_up_ns", "machine/wake_up_cost.h", "no less is believed", "ns", ""),
        ("most_wake_up_ns", "machine/wake_up_cost.h", "no more is believed", "ns", ""),
        ("unknown_wake_up_ns", "policy/policy.h", "where nobody could measure it", "ns", "")),
}


def value(constant, file):
    """As it stands in the source."""
    text = (cases.ROOT / "src" / file).read_text(encoding="utf-8")
    before = rf"\b{constant} = " if re.fullmatch(r"\w+", constant) else constant
    found = re.findall(before + r"(?:std::size_t{(?=\d+} \*))?([\d'][\d' *}]*(?:ms)?)", text)
    if len(found) != 1:
        raise LookupError(f"src/{file} has {len(found)} of {constant}")
    number = 1
    for factor in found[0].replace("'", "").replace("}", "").split("*"):
        number *= 1_000_000 if factor.strip() == "ms" else int(factor)
    return number


def in_words(number, unit):
    for larger, factor in (("s", 10**9), ("ms", 10**6), ("us", 10**3)) if unit == "ns" else (
            ("MiB", 2**20), ("KiB", 2**10)) if unit == "bytes" else ():
        if number % factor == 0:
            return f"{number // factor} {larger}"
    return f"{number} {unit[:-1] if number == 1 and unit.endswith('s') else unit}"


def table():
    """(heuristic, number and unit, meaning, what it scales with) of each."""
    for heuristic, rows in CONSTANTS.items():
        for constant, file, meaning, unit, scale in rows:
            yield heuristic, in_words(value(constant, file), unit), meaning, scale or "nothing"
