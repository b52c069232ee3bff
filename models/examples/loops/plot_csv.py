"""Draws the angle of simplex.c over time, and who acts: plot_csv.py FILE.csv FILE.svg."""

import csv
import sys

WIDTH, HEIGHT, LIMIT = 720, 240, 0.6


def main(source, target):
    with open(source, encoding="utf-8") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    step = WIDTH / len(rows)
    points = [(step * (i + 0.5), HEIGHT / 2 * (1 - row["angle"] / LIMIT)) for i, row in enumerate(rows)]
    backup = "".join(f'<rect x="{step * i:.1f}" width="{step:.1f}" height="{HEIGHT}" fill="#f6d9c4"/>'
                     for i, row in enumerate(rows) if not row["learned"])
    limits = "".join(f'<path d="M0 {HEIGHT / 2 * (1 - y / LIMIT):.1f}H{WIDTH}" stroke="#b3261e" stroke-dasharray="6 4"/>'
                     for y in (-0.5, 0.5))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    with open(target, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
                   f"<title>The angle over {rows[-1]['seconds']:g} s; shaded where the backup acts</title>"
                   f'{backup}{limits}<polyline points="{line}" fill="none" stroke="#1f4e79" stroke-width="2"/></svg>\n')


if __name__ == "__main__":
    main(*sys.argv[1:])
