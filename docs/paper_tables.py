"""Put the tables and figures of `oddatom paper` into docs/paper.md: python docs/paper_tables.py results

What stands between `<!-- table NAME -->` and `<!-- end -->` becomes results/tables/NAME.md, without its title and the
commands, which are the same for all of them and take the place of `<!-- commands -->`; between `<!-- figure NAME -->`
and `<!-- end -->` stand a figure, copied beside the page, and its caption from results/results.md.
"""

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent


def fill(text: str, results: Path, images: Path) -> str:
    """Return the page filled from a folder of results; figures are copied to `images`."""
    whole = (results / "results.md").read_text()

    def part(found: re.Match[str]) -> str:
        kind, name = found[1], found[2]
        if kind == "table":
            table, made_by = (results / "tables" / f"{name}.md").read_text().rsplit("```sh\n", 1)
            commands.add("```sh\n" + made_by.strip())
            body = table[table.index("\n") :].strip()
        else:
            shutil.copyfile(results / "figures" / f"{name}.svg", images / f"paper_{name}.svg")
            title, caption = re.search(rf"## (.*)\n\n!\[.*\]\(figures/{name}\.svg\)\n\n(.*)\n", whole).groups()
            body = f"![{title}](images/paper_{name}.svg)\n\n{caption}"
        return f"<!-- {kind} {name} -->\n{body}\n<!-- end -->"

    commands: set[str] = set()
    text = re.sub(r"<!-- (table|figure) (\w+) -->.*?<!-- end -->", part, text, flags=re.DOTALL)
    (made_by,) = commands
    return re.sub(
        r"<!-- commands -->.*?<!-- end -->",
        lambda _: f"<!-- commands -->\n{made_by}\n<!-- end -->",
        text,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    page = HERE / "paper.md"
    page.write_text(fill(page.read_text(), Path(sys.argv[1]), HERE / "images"))
