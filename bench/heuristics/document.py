"""The page that says what each learner and heuristic brings, from the results of one measurement."""
import math
import platform
import statistics

import cases
import constants

PAGE = cases.ROOT / "docs/measurements/heuristics.md"
LEAST = 0.03  # smaller differences are nobody's business
FEWEST = 3  # rounds
SHOWN = 2  # effects of a heuristic, the largest


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    return f"{model}, Linux {platform.release()}"


class Comparison:
    """One heuristic in one case, by one measure: how often as much it takes without it, in each round."""

    def __init__(self, rounds, without, measure):
        self.ratios, alike = [], []
        for runs in rounds.values():
            first, last = (run.get(measure) for run in runs["everything"])
            if without in runs and first and last and runs[without][0].get(measure):
                self.ratios.append(runs[without][0][measure] / math.sqrt(first * last))
                alike.append(abs(math.log(last / first)))
        self.noise = statistics.median(alike) if alike else math.inf
        self.ratios.sort()
        quarter = len(self.ratios) // 4
        self.inner = self.ratios[quarter:len(self.ratios) - quarter]

    @property
    def ratio(self):
        return statistics.median(self.ratios)

    @property
    def clear(self):
        """1: the heuristic helps; -1: it harms; 0: neither by more than runs of the same differ."""
        least = max(math.log(1 + LEAST), self.noise)
        if len(self.ratios) < FEWEST:
            return 0
        return 1 if math.log(self.inner[0]) > least else -1 if math.log(self.inner[-1]) < -least else 0

    def __str__(self):
        return f"{self.ratio:.2f} ({self.inner[0]:.2f}–{self.inner[-1]:.2f})"


def by_case(results):
    """{case: {round: {without: [runs]}}}"""
    found = {}
    for run in results:
        found.setdefault(run["case"], {}).setdefault(run["round"], {}).setdefault(run["without"], []).append(run)
    return found


def failures(results, variant):
    return sorted({f"{run['case']}: {run['why'].splitlines()[0]}" for run in results if run["without"] == variant and "why" in run})


def verdict(helps, harms, rounds):
    if rounds < FEWEST:
        return "not known"
    return "helps" if helps and not harms else "harms" if harms and not helps else "helps and harms" if helps else "no difference"


def rows(found, results, rounds):
    """(heuristic, verdict, what it helps, what it harms, number of cases)"""
    names = {case.key: case for case in cases.CASES}
    for variant in cases.variants():
        said = {1: [], -1: []}
        tried = [key for key, rounds in found.items() if any(variant.name in runs for runs in rounds.values())]
        for key in tried:
            for measure, word in (("time", ""), ("cpu", "CPU ")):
                one = Comparison(found[key], variant.name, measure)
                if one.clear:
                    said[one.clear].append((abs(math.log(one.ratio)), f"{names[key]}: {word}{one}"))
        if tried:
            wrong = [f"fails: {text}" for text in failures(results, variant.name)]
            yield variant, verdict(said[1], said[-1], rounds), most(said[1]), most(said[-1]) + wrong, len(tried)


def most(said):
    """The largest effects of all."""
    words = [text for _, text in sorted(said, reverse=True)]
    return words[:SHOWN] + ([f"{len(words) - SHOWN} more"] if len(words) > SHOWN else [])


def text(measured):
    found = by_case(measured["results"])
    lines = [
        "# Learners and heuristics on trial",
        "",
        "<!-- written by bench/heuristics/measure --document; from here -->",
        "",
        "What Meantime does by experience or by a tuned constant, and what it brings: everything beside everything but one, "
        "in turns.",
        "",
        f"`bench/heuristics/measure --document`, {measured['date']}, {measured['machine']}, {measured['cpus']} CPUs, "
        f"{measured['rounds']} rounds, {measured['minutes']} minutes, load {measured['load']:.1f} at the beginning.",
        "",
        "A figure is how often as much a case takes *without* it, median (middle half of the rounds); CPU: processor time of the "
        "job. Only what is clear is shown, the largest two: three quarters of the rounds are beyond 3 %, and beyond what two runs of the same "
        "differ by. Of a hundred comparisons one to three are so by chance. `1 core`: all ranks on one CPU; `loaded`: beside a busy "
        "loop a CPU; `overloaded`: five.",
        "",
        "| | with it | without it | | is better by it: without it … | is worse by it: without it … | cases |",
        "|---|---|---|---|---|---|---|"]
    for variant, judgement, helps, harms, count in rows(found, measured["results"], measured["rounds"]):
        lines.append(f"| `{variant.name}` | {variant.with_it} | {variant.without} | {judgement} | {'; '.join(helps)} | "
                     f"{'; '.join(harms)} | {count} |")
    if wrong := failures(measured["results"], "everything"):
        lines += ["", "With everything: " + "; ".join(wrong) + "."]
    lines += ["", "| case | two runs of the same differ by (median of the rounds) |", "|---|---|"]
    lines += [f"| {case} | {100 * (math.exp(Comparison(found[case.key], 'everything', 'time').noise) - 1):.0f} % |"
              for case in cases.CASES if case.key in found] + [""]
    lines += [
        "Not on trial is what programs need to go on (room that grows for unread messages, a worker that is handed over, naps of "
        "who lacks memory), what somebody asks for (`ade`, the ready energy policies), and where a collective changes its way by "
        "size alone (`src/coll/thresholds.h`).", ""]
    lines += ["## Their constants", "",
              "| | | | scales with |", "|---|---|---|---|"]
    last = None
    for heuristic, number, meaning, scale in constants.table():
        lines.append(f"| {f'`{heuristic}`' if heuristic != last else ''} | {number} | {meaning} | {scale} |")
        last = heuristic
    return "\n".join(lines) + "\n"
