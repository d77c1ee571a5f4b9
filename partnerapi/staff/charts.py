"""Charts of the back office: SVG from the server, each with its table behind it.

A chart stretches to its column and keeps its letters: only the drawing, WIDTH units
wide and HEIGHT pixels high, is scaled. Colours are those of the pages' style sheet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from partnerapi.core.money import euros

WIDTH, HEIGHT = 1000, 180
TOP = 6
"""Pixels above the largest value."""
TICKS = 4
MOST_MARKS = 12
FLAG = 0.14 * WIDTH
"""Marks within it share a flag: "10–12" is so wide in a window of 390 pixels."""
MOST_LABELS = 4
"""On the axis of time: they have room in a window of 390 pixels."""
LONG = timedelta(days=300)
"""Labels of so long a time name the year."""
GAP = 0.25
"""Of a column's width, between it and the next."""
SHADES = 10
"""Colours of a bar's parts; those of rests follow them."""
Number = Callable[[int], str]
Cell = tuple[str, bool]
"""Text, and whether it is a number."""


def units(value: int) -> str:
    return f"{value:,}"


def short(value: int, number: Number) -> str:
    """A tick of an axis: €1.25, €10, €2.5k, 40M; a letter stands for thousands."""
    sign = "€" if number is euros else ""
    amount = abs(value) / 100 if number is euros else abs(value)
    letter = ""
    for size, each in ((1e12, "T"), (1e9, "bn"), (1e6, "M"), (1e4, "k")):
        if amount >= size:
            amount, letter = amount / (1e3 if each == "k" else size), each
            break
    digits = f"{amount:,.2f}".removesuffix("0").removesuffix(".0")
    if sign and not letter and "." in digits:
        digits = f"{amount:,.2f}"
    return f"{'−' if value < 0 else ''}{sign}{digits}{letter}"


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` on HEIGHT pixels, with round ticks between them."""

    low: int
    high: int
    step: int

    def y(self, value: int) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(HEIGHT - (HEIGHT - TOP) * share, 2)

    def ticks(self, number: Number) -> list[tuple[float, str]]:
        values = range(self.low, self.high + 1, self.step)
        texts = [short(value, number) for value in values]
        if len({*texts}) < len(texts):
            texts = [number(value) for value in values]
        return [(self.y(v), text) for v, text in zip(values, texts, strict=True)]


def scale_of(values: Sequence[int], *, from_zero: bool) -> Scale:
    """A scale whose ticks are 1, 2 or 5 times a power of ten apart."""
    low, high = min(values, default=0), max(values, default=0)
    if from_zero or low == high:
        low, high = min(low, 0), max(high, 0)
    rough = max((high - low) / TICKS, 1)
    size = 10 ** (len(str(int(rough))) - 1)
    step = next(size * n for n in (1, 2, 5, 10) if size * n >= rough)
    low = low // step * step
    high = -(-high // step) * step
    return Scale(low, high if high > low else low + step, step)


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened, and when in words."""

    when: str
    text: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """What the template draws; `rows` are the numbers that it draws."""

    name: str
    """Its id on the page."""
    title: str
    unit: str
    heads: list[Cell]
    rows: list[list[Cell]]
    times: list[tuple[str, str]] = field(default_factory=list)
    """Places on the axis of time, in percent, and what stands there."""
    ticks: list[tuple[float, str]] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    """A class and the points of each line."""
    columns: list[tuple[str, float, float, float, float]] = field(default_factory=list)
    """A class, x, y, width and height of each."""
    marks: list[tuple[float, Mark]] = field(default_factory=list)
    """x and mark; a list below the drawing numbers them."""
    flags: list[tuple[str, str]] = field(default_factory=list)
    """Places above the drawing, in percent, and the numbers of the marks there."""
    legend: list[tuple[str, str]] = field(default_factory=list)
    said: str = ""
    """What the drawing shows, in a sentence."""
    empty: str = ""
    """Instead of a drawing of nothing: what to do."""
    is_bar: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Values at instants that the chart names; `kind` is the class of its colour."""

    name: str
    kind: str
    values: Sequence[int | None]


def percent(x: float) -> str:
    return f"{100 * x / WIDTH:.2f}%"


def ticks_of(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Four of the labels at most, each in the middle of its column."""
    every = max(1, -(-len(labels) // MOST_LABELS))
    width = WIDTH / max(len(labels), 1)
    shown = range(len(labels) - 1 - every // 2, -1, -every)
    return [(percent(width * (at + 0.5)), labels[at]) for at in shown][::-1]


def flags_of(places: Sequence[float]) -> list[tuple[str, str]]:
    """Marks that follow each other closely have one flag, in their middle."""
    groups: list[list[tuple[int, float]]] = []
    for number, x in enumerate(places, 1):
        if groups and x - groups[-1][0][1] < FLAG:
            groups[-1].append((number, x))
        else:
            groups.append([(number, x)])
    return [
        (
            percent((group[0][1] + group[-1][1]) / 2),
            "–".join(dict.fromkeys(str(number) for number, _ in (group[0], group[-1]))),
        )
        for group in groups
    ]


def day_ticks(days: Sequence[date]) -> list[tuple[str, str]]:
    is_long = days and days[-1] - days[0] > LONG
    return ticks_of([f"{d:%b %Y}" if is_long else f"{d.day} {d:%b}" for d in days])


def hour_ticks(hours: Sequence[datetime]) -> list[tuple[str, str]]:
    """Of less than a week: the day of the week is short, and names one day."""
    return ticks_of([f"{hour:%a %H:%M}" for hour in hours])


def stairs(values: Sequence[int | None], scale: Scale) -> list[str]:
    """The points of lines: each value goes on until the next; none where it is None."""
    width, lines, points = WIDTH / max(len(values), 1), [], list[str]()
    for at, value in enumerate(values):
        if value is None:
            lines.append(points)
            points = []
            continue
        y = scale.y(value)
        points += [f"{width * at:.1f},{y}", f"{width * (at + 1):.1f},{y}"]
    return [" ".join(line) for line in [*lines, points] if line]


def stacked(
    stacks: Sequence[Series], scale: Scale
) -> list[tuple[str, float, float, float, float]]:
    found, count = [], max((len(each.values) for each in stacks), default=0)
    width = WIDTH / max(count, 1)
    for at in range(count):
        below = 0
        for each in stacks:
            if value := each.values[at] or 0:
                top, foot = scale.y(below + value), scale.y(below)
                x = round(width * (at + GAP / 2), 2)
                wide = round(width * (1 - GAP), 2)
                found.append((each.kind, x, top, wide, round(foot - top, 2)))
                below += value
    return found


def over_time(
    name: str,
    title: str,
    labels: Sequence[str],
    times: list[tuple[str, str]],
    lines: Sequence[Series] = (),
    columns: Sequence[Series] = (),
    marks: Sequence[tuple[int, Mark]] = (),
    number: Number = units,
    unit: str = "units",
    head: str = "Day",
    empty: str = "",
    from_zero: bool = True,
) -> Chart:
    """Values of each of the `labels`, which follow each other in time.

    `marks` go with the index of the label at which they happened. The table has the
    rows in which a value is, the latest first.
    """
    every = [*lines, *columns]
    sums = [
        sum(each.values[at] or 0 for each in columns)
        for at in range(len(labels) if columns else 0)
    ]
    of_lines = [value for each in lines for value in each.values if value is not None]
    scale = scale_of([*of_lines, *sums], from_zero=from_zero or bool(columns))
    width = WIDTH / max(len(labels), 1)
    shown = [(round(width * (at + 0.5), 1), mark) for at, mark in marks][-MOST_MARKS:]
    rows = [
        [(labels[at], False)]
        + [
            (number(value) if (value := each.values[at]) is not None else "", True)
            for each in every
        ]
        for at in range(len(labels) - 1, -1, -1)
        if any(each.values[at] is not None for each in every)
    ]
    has_values = any(of_lines) or any(sums)
    return Chart(
        name,
        title,
        unit,
        [(head, False), *((each.name, True) for each in every)],
        rows,
        times,
        scale.ticks(number),
        [(each.kind, line) for each in lines for line in stairs(each.values, scale)],
        stacked(columns, scale),
        shown,
        flags_of([x for x, _ in shown]),
        [(each.kind, each.name) for each in every] if len(every) > 1 else [],
        said(title, of_lines or sums, number),
        "" if has_values else empty,
    )


def said(title: str, values: Sequence[int], number: Number) -> str:
    if not values:
        return title
    return f"{title}: from {number(min(values))} to {number(max(values))}"


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    value: int
    link: str = ""
    is_rest: bool = False


@dataclass(frozen=True, slots=True)
class DrawnPart:
    part: Part
    kind: str
    x: float
    width: float
    value: str
    share: str


@dataclass(frozen=True, slots=True)
class Bar:
    """Parts of a whole as one bar; the shares are of the sum."""

    name: str
    title: str
    head: str
    unit: str
    parts: list[DrawnPart]
    total: str
    empty: str = ""


def share_bar(
    name: str,
    title: str,
    parts: Sequence[Part],
    number: Number = units,
    head: str = "Holder",
    unit: str = "units",
    empty: str = "",
) -> Bar:
    """One bar of 100 %: the parts in their order, without those that are nothing."""
    total, below, rests, drawn = sum(part.value for part in parts), 0, 0, []
    for place, part in enumerate(part for part in parts if part.value):
        rests += part.is_rest
        shade = SHADES + rests if part.is_rest else place % SHADES + 1
        x, end = (round(WIDTH * n / total, 2) for n in (below, below + part.value))
        drawn.append(
            DrawnPart(
                part,
                f"shade-{shade}",
                x,
                round(end - x, 2),
                number(part.value),
                f"{100 * part.value / total:.2f} %",
            )
        )
        below += part.value
    return Bar(name, title, head, unit, drawn, number(total), empty)


def last_days(end: date, count: int) -> list[date]:
    return [end - timedelta(days=at) for at in range(count - 1, -1, -1)]


def spark(values: Sequence[int], height: int = 28) -> str:
    """The points of a line without axes, WIDTH units wide; the row beside it says
    the numbers.
    """
    if not values:
        return ""
    drawn = [*values, values[-1]] if len(values) == 1 else [*values]
    low, high = min(drawn), max(drawn)
    step, span = WIDTH / (len(drawn) - 1), max(high - low, 1)
    middle = height / 2 if high == low else None
    return " ".join(
        f"{step * at:.1f},"
        f"{middle or height - 2 - (height - 4) * (value - low) / span:.1f}"
        for at, value in enumerate(drawn)
    )
