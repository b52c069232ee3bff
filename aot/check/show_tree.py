#!/usr/bin/env python3
"""Shows what a certificate is made of: show_tree.py PROPERTY CERTIFICATE [PICTURE.svg]

Prints its records' counts as one JSON object, and draws its trees: a row for each level, and in it a bar for each node,
as wide as the leaves below it. Nothing is checked, and no model is read.
"""

import collections
import gzip
import json
import pathlib
import sys

import bf_check as twin

RECORDS = ("leaf", "leaf with choices", "empty", "halve", "cut", "neuron", "derive", "each")
COLOURS = dict(zip(RECORDS, ("#0a8a63", "#a07a00", "#aeb6bd", "#0b62a8", "#6db3ee", "#c2571a", "", "#a8518a")))
WIDTH, ROW, TOP = 1200, 14, 34


class Node:
    """A record but for derive: its kind, what it names, and how many leaves are below."""

    def __init__(self, kind, name, children):
        self.kind, self.name, self.children = kind, name, children
        self.leaves = sum(child.leaves for child in children) if children else 1


class Reader(twin.Walk):
    def __init__(self, data):
        super().__init__(data)
        self.counts, self.splits, self.deepest, self.slopes, self.multipliers = collections.Counter(), {}, 0, 0, 0

    def tree(self, clauses, neurons=0, depth=0):
        """Reads a node. clauses: how many; neurons: how many are split above."""
        self.deepest = max(self.deepest, depth)
        derived = 0
        while (tag := self.byte()) == RECORDS.index("derive"):
            derived += 1
        self.require(tag < len(RECORDS), "no such record")
        self.counts.update({"derive": derived, RECORDS[tag]: 1})
        name, children = "", []
        if tag in (0, 1):
            for _ in range(clauses):
                self.read_choices(neurons) if tag == 1 else self.number()
        elif RECORDS[tag] == "each":
            children = [self.tree(1, neurons, depth + 1) for _ in range(clauses)]
        elif RECORDS[tag] != "empty":
            splits_neuron = RECORDS[tag] == "neuron"
            name = f"{'neuron' if splits_neuron else 'element'} {self.number()}"
            if RECORDS[tag] == "cut":
                self.number()
            self.splits[name] = self.splits.get(name, 0) + 1
            children = [self.tree(clauses, neurons + splits_neuron, depth + 1) for _ in range(2)]
        return Node(RECORDS[tag], name, children)

    def read_choices(self, neurons):
        for _ in range(2 * self.number()):
            self.number()
        flags = self.byte()
        slopes = self.number() if flags & 1 else 0
        for _ in range(slopes):
            self.number(), self.byte()
        for _ in range(neurons if flags & 2 else 0):
            self.number()
        self.slopes, self.multipliers = self.slopes + slopes, self.multipliers + (neurons if flags & 2 else 0)


def read(text, data):
    """The statistics of a certificate, and its trees."""
    reader = Reader(data)
    reader.require(reader.text(4) == b"BFC2", "this is no certificate")
    statement, semantics = reader.text(2)
    ulps = {"ulps": reader.byte()} if semantics == 1 else {}
    weight_bits, value_bits, coefficient_bits = reader.text(3)
    models = [reader.text(32).hex() for _ in range(reader.number())]
    prop, tool = reader.text(32).hex(), reader.text(reader.number()).decode("latin-1")
    found = {"statement": {1: "verified", 2: "falsified"}[statement],
             "semantics": {0: "real", 1: "float32"}[semantics], **ulps,
             "grid": [weight_bits, value_bits, coefficient_bits], "bytes": len(data), "models": models, "property": prop,
             "tool": tool}
    if statement == 2:
        return found, []
    trees = [reader.tree(len(clauses)) for clauses in twin.Property(text.decode("latin-1")).cases.values()]
    reader.require(reader.at == len(data), "the certificate goes on behind its end")
    most = sorted(reader.splits.items(), key=lambda split: (-split[1], split[0]))
    found |= {"cases": len(trees), "leaves": sum(tree.leaves for tree in trees), "depth": reader.deepest,
              "records": {kind: reader.counts[kind] for kind in RECORDS if reader.counts[kind]},
              "slopes": reader.slopes, "multipliers": reader.multipliers, "splits": dict(most)}
    return found, trees


def bars(node, left, width, level):
    """The bars of a node and of those below it that are wide enough to be seen."""
    if width >= 0.25:
        said = node.name if node.kind == "neuron" else f"{node.kind} {node.name}".strip()
        yield (f'<rect x="{left:.2f}" y="{TOP + ROW * level}" width="{max(width - 0.3, 0.2):.2f}" height="{ROW - 1}" '
               f'fill="{COLOURS[node.kind]}"><title>{said}, {node.leaves} leaves</title></rect>')
        for child in node.children:
            share = width * child.leaves / node.leaves
            yield from bars(child, left, share, level + 1)
            left += share


def picture(found, trees):
    lines, left, leaves = [], 0.0, sum(tree.leaves for tree in trees)
    for i, kind in enumerate(kind for kind in RECORDS if COLOURS[kind] and found["records"].get(kind)):
        lines.append(f'<rect x="{i * 150}" y="6" width="12" height="12" fill="{COLOURS[kind]}"/>'
                     f'<text x="{i * 150 + 17}" y="16">{kind}: {found["records"][kind]}</text>')
    for tree in trees:
        lines += bars(tree, left, WIDTH * tree.leaves / leaves, 0)
        left += WIDTH * tree.leaves / leaves
    height = TOP + ROW * (found["depth"] + 1)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="DejaVu Sans,sans-serif" '
            f'font-size="12">\n<rect width="{WIDTH}" height="{height}" fill="#fbfbfa"/>\n' + "\n".join(lines) + "\n</svg>\n")


def main(words):
    if len(words) not in (3, 4):
        return print(__doc__, file=sys.stderr) or 2
    sys.setrecursionlimit(20000)
    text, data = (pathlib.Path(word).read_bytes() for word in words[1:3])
    try:
        found, trees = read(text, gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (twin.NotProven, twin.Refused, KeyError, IndexError, ValueError) as why:
        print(f"{words[2]}: {why!r}", file=sys.stderr)
        return 1
    print(json.dumps(found, indent=1))
    if len(words) == 4 and trees:
        pathlib.Path(words[3]).write_text(picture(found, trees), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
