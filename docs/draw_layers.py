"""Draw the packages and their real imports into docs/images/layers.svg: python docs/draw_layers.py [--check]

The layers are those of pyproject.toml, which `lint-imports` checks; the arrows are the imports that the code has, less
those that follow from others. Single modules, such as the exceptions, are left out.
"""

import sys
import tomllib
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "oddatom"
PICTURE = ROOT / "docs" / "images" / "layers.svg"
WIDTH, HEIGHT, GAP, STEP, MARGIN = 168, 26, 26, 52, 16


def layers() -> list[list[str]]:
    """Return the packages of every layer, those that import the others first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    rows = settings["contracts"][0]["layers"]
    named = [[name.strip() for name in row.replace(":", "|").split("|")] for row in rows]
    return [kept for row in named if (kept := [name for name in row if (PACKAGE / name).is_dir()])]


def imports(names: set[str]) -> dict[str, set[str]]:
    """Return which packages each imports, at the top of a file or inside functions."""
    graph = grimp.build_graph("oddatom", exclude_type_checking_imports=True)
    found: dict[str, set[str]] = {name: set() for name in names}
    for module in graph.modules - {"oddatom"}:
        package = module.split(".")[1]
        for other in graph.find_modules_directly_imported_by(module) - {"oddatom"}:
            target = other.split(".")[1]
            if target != package and {package, target} <= names:
                found[package].add(target)
    return found


def reduced(edges: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the imports that do not follow from others: of a → b → c, a → c is left out."""
    below: dict[str, set[str]] = {}

    def reach(name: str) -> set[str]:
        if name not in below:
            below[name] = set().union(*({other} | reach(other) for other in edges[name]))
        return below[name]

    return sorted(
        (name, other)
        for name, others in edges.items()
        for other in others
        if not any(other in reach(third) for third in others - {other})
    )


def draw(rows: list[list[str]], arrows: list[tuple[str, str]]) -> str:
    """Return the picture: a row a layer, an arrow an import."""
    widest = max(len(row) for row in rows)
    width = 2 * MARGIN + widest * WIDTH + (widest - 1) * GAP
    height = 2 * MARGIN + len(rows) * STEP - (STEP - HEIGHT)
    place = {}
    for k, row in enumerate(rows):
        left = (width - len(row) * WIDTH - (len(row) - 1) * GAP) / 2
        for i, name in enumerate(row):
            place[name] = left + i * (WIDTH + GAP), MARGIN + k * STEP
    lines = []
    for name, other in arrows:
        (x1, y1), (x2, y2) = place[name], place[other]
        x1, x2, y1 = x1 + WIDTH / 2, x2 + WIDTH / 2, y1 + HEIGHT
        far = round((y2 - y1) / STEP)
        bend = 0.0 if far < 1 else (60 + 22 * far) * (1 if (x1 + x2 + far) % 2 < 1 else -1)
        lines.append(
            f'<path d="M{x1:g} {y1:g} C{x1 + bend:g} {y1 + 18:g} {x2 + bend:g} {y2 - 18:g} {x2:g} {y2:g}" '
            f'marker-end="url(#end)"><title>{escape(name)} imports {escape(other)}</title></path>'
        )
    boxes = [
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
        f'<text x="{x + WIDTH / 2:g}" y="{y + 17:g}">{escape(name)}</text>'
        for name, (x, y) in place.items()
    ]
    style = (
        "rect{fill:#eef3f8;stroke:#5b7083}text{font:13px sans-serif;text-anchor:middle;fill:#16212b}"
        "path{fill:none;stroke:#7d93a6;stroke-width:1.2}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="Packages of oddatom by layer, and which imports which"><style>{style}</style><defs>'
        '<marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#7d93a6;stroke:none"/></marker></defs>'
        f'<rect width="100%" height="100%" style="fill:#fff;stroke:none"/>\n'
        + "\n".join([*lines, *boxes])
        + "\n</svg>\n"
    )


def main() -> None:
    """Write the picture, or check it."""
    rows = layers()
    names = {name for row in rows for name in row}
    picture = draw(rows, reduced(imports(names)))
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(picture)
    elif not PICTURE.exists() or PICTURE.read_text() != picture:
        sys.exit(f"{PICTURE.relative_to(ROOT)} is not what the code imports: run python docs/draw_layers.py.")


if __name__ == "__main__":
    main()
