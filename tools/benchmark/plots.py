"""Plots as SVG: bars and lines on a logarithmic scale, readable on light and dark backgrounds."""

import html
import math

COLOURS = ["#2a9d8f", "#e76f51", "#7b8cde", "#e9b44c", "#b06ab3", "#6c9a3b"]
STYLE = """<style>
text { font: 12px sans-serif; fill: #333 } .title { font-size: 14px; font-weight: bold }
.grid { stroke: #888; stroke-opacity: .3 } .small { font-size: 10px }
@media (prefers-color-scheme: dark) { text { fill: #ddd } }
</style>"""
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 60, 50


def short(value):
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


class Scale:
    """Logarithmic, whole decades."""

    def __init__(self, values, start, end):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.start, self.end = start, end

    def at(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        return [10.0 ** power for power in range(self.low, self.high + 1)]


class Picture:
    def __init__(self, width, height, title, unit):
        self.width, self.height = width, height
        self.parts = [STYLE, self.text(LEFT, 20, title, "title"), self.text(LEFT, TOP - 10, unit, "small")]

    @staticmethod
    def text(x, y, text, kind="", anchor="start"):
        return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{html.escape(str(text))}</text>'

    def add(self, part):
        self.parts.append(part)

    def grid(self, scale):
        for tick in scale.ticks():
            y = scale.at(tick)
            self.add(f'<line x1="{LEFT}" x2="{self.width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
            self.add(self.text(LEFT - 6, y + 4, short(tick), "small", "end"))

    def legend(self, names):
        x = LEFT
        for name, colour in zip(names, COLOURS):
            self.add(f'<rect x="{x}" y="28" width="10" height="10" fill="{colour}"/>')
            self.add(self.text(x + 14, 37, name))
            x += 30 + 7 * len(name)

    def save(self, path):
        path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                        f'viewBox="0 0 {self.width} {self.height}">\n' + "\n".join(self.parts) + "\n</svg>\n")


def bars(path, title, unit, groups, series):
    """series: {name: {group: value}}; a missing value leaves a gap."""
    values = [value for row in series.values() for value in row.values() if value]
    if not values:
        return
    slot = 16 * len(series) + 24
    picture = Picture(LEFT + RIGHT + slot * len(groups), 340, title, unit)
    scale = Scale(values, picture.height - BOTTOM, TOP)
    picture.grid(scale)
    picture.legend(series)
    for column, group in enumerate(groups):
        x = LEFT + 12 + slot * column
        picture.add(picture.text(x + slot / 2 - 12, picture.height - BOTTOM + 18 + 14 * (column % 2), group, "small",
                                 "middle"))
        for number, row in enumerate(series.values()):
            value = row.get(group)
            if value:
                top = scale.at(value)
                picture.add(f'<rect x="{x + 16 * number}" y="{top:.1f}" width="14" '
                            f'height="{picture.height - BOTTOM - top:.1f}" fill="{COLOURS[number]}">'
                            f"<title>{html.escape(group)}: {value:,.1f}</title></rect>")
    picture.save(path)


def lines(path, title, unit, x_name, series):
    """series: {name: [(x, y), ...]}; both axes logarithmic (x = 0 is drawn as 0.5)."""
    points = [(max(x, 0.5), y) for row in series.values() for x, y in row if y]
    if not points:
        return
    picture = Picture(460, 320, title, unit)
    across = Scale([x for x, _ in points], LEFT + 10, picture.width - RIGHT - 10)
    scale = Scale([y for _, y in points], picture.height - BOTTOM, TOP)
    picture.grid(scale)
    picture.legend(series)
    for x in sorted({x for row in series.values() for x, y in row if y}):
        picture.add(picture.text(across.at(max(x, 0.5)), picture.height - BOTTOM + 16, short(x) if x else "0", "small",
                                 "middle"))
    picture.add(picture.text(picture.width / 2, picture.height - 14, x_name, "", "middle"))
    for colour, row in zip(COLOURS, series.values()):
        places = [(across.at(max(x, 0.5)), scale.at(y), x, y) for x, y in sorted(row) if y]
        path_text = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y, _, _) in enumerate(places))
        picture.add(f'<path d="{path_text}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y, raw_x, raw_y in places:
            picture.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">'
                        f"<title>{short(raw_x)}: {raw_y:,.1f}</title></circle>")
    picture.save(path)
