"""How the figures look: colours that are told apart by colour-blind readers, and on paper by their markers, lines and
hatches; legends beside the plot; below it the machine, and how busy that was.
"""
from __future__ import annotations

import textwrap

from . import results

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito's
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))
HATCHES = ("", "////", "||||", "xxxx", "----", "\\\\\\\\", "oo")


def line(number):
    """Of the curve with this number."""
    return {"color": f"C{number}", "marker": MARKERS[number % len(MARKERS)], "linestyle": LINES[number % len(LINES)]}


def bar(number):
    return {"color": f"C{number}", "hatch": HATCHES[number % len(HATCHES)], "edgecolor": "white"}


def legend_beside(figure, axes):
    """Of all curves in these axes, once each, on the right of them all."""
    named = {}
    for one in axes:
        named.update(zip(*reversed(one.get_legend_handles_labels())))
    figure.legend(named.values(), named, loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7, frameon=False)


def caption(found):
    data = found.data
    lines = [f"{data['machine']}.", f"{data['date']}, {data['command']}; load before {data['load before']}."]
    return [text for text in [*lines, found.busy()] if text]


def put_below(figure, lines):
    """Under all that is drawn already."""
    box = figure.get_tightbbox(figure.canvas.get_renderer())  # in inches
    width, height = figure.get_size_inches()
    wrapped = [part for text in lines for part in textwrap.wrap(text, max(60, int(15 * width)))]
    figure.text(box.x0 / width, (box.y0 - 0.1) / height, "\n".join(wrapped), fontsize=6, color="0.3", va="top")


def draw(figures, found, folder, why_not):
    """Writes what figures(found, pyplot) yields as (name, figure); returns what to say of them, or why there are none, if the
    user does not know it yet (`why_not`)."""
    try:
        import matplotlib  # noqa: PLC0415
    except ImportError:
        return f"\n{results.NO_FIGURES}" if why_not else ""
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "meantime"  # the same results give the same file
    matplotlib.rcParams["hatch.linewidth"] = 0.5
    matplotlib.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=COLOURS)
    from matplotlib import pyplot  # noqa: PLC0415
    written = []
    for name, figure in figures(found, pyplot):
        figure.tight_layout()
        put_below(figure, caption(found))
        figure.savefig(folder / name, metadata={"Date": None}, bbox_inches="tight")
        pyplot.close(figure)
        written.append(name)
    return "".join(f", {name}" for name in written)
