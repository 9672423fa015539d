"""Put the tables and figures of `oddatom paper` into docs/paper.md: python docs/paper_tables.py results

Everything between `<!-- table NAME -->` and `<!-- end -->` is replaced by results/tables/NAME.md, without its title;
figures are copied beside docs/paper.md.
"""

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(results: Path) -> None:
    """Fill the page from a folder of results."""
    page = HERE / "paper.md"
    text = page.read_text()
    for name in re.findall(r"<!-- table (\w+) -->", text):
        table = (results / "tables" / f"{name}.md").read_text()
        body = table[table.index("\n") :].strip()
        marked = re.compile(rf"(<!-- table {name} -->).*?(<!-- end -->)", re.DOTALL)
        text = marked.sub(lambda found, body=body: f"{found[1]}\n{body}\n{found[2]}", text)
    for name in re.findall(r"\(images/paper_(\w+)\.svg\)", text):
        shutil.copyfile(results / "figures" / f"{name}.svg", HERE / "images" / f"paper_{name}.svg")
    page.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
