"""What the tests of the report share: content made by hand, cells that want to break out of it, a reader of HTML."""

from html.parser import HTMLParser

import numpy as np

from oddatom.report import AtomUse, ColumnDecision, Curve, DataFacts, HowTo, ReportContent, RowMap, TopRow

HOSTILE = (
    "<script>window.broken = 1</script>",
    "</script><script>window.broken = 2</script>",
    "</td></table></style></title><img src=x onerror='window.broken = 3'>",
    '" onmouseover="window.broken = 4" autofocus onfocus="window.broken = 5',
    "' onclick='window.broken = 6' x='",
    "<!--<script>",
    "]]><svg/onload=window.broken=7>",
    "nul \x00 bell \x07 escape \x1b[31m c1 \x85",
    "right to left \u202e override \u2066 isolate \u2069",
    "separators \u2028 \u2029 zero \u200b width \ufeff",
    "half a pair \ud800",
    "&lt;b&gt; &amp; &#x3c;script&#x3e;",
    "javascript:window.broken=8",
    "$\\frac{1}{0$ \\u003cscript\\u003e {window.broken = 9} `",
    '=HYPERLINK("http://example.org")',
)


def plain_content(n_top=12, n_columns=4, N=300, seed=0, **others):
    """Content with everything in it; odd rows are 7, 14, 21, … by rank."""
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(size=N))
    shares = rng.uniform(size=(n_top, n_columns))
    columns = tuple(f"column {c}" for c in range(n_columns))
    points = rng.normal(size=(min(N, 2000), 2))
    P = points.shape[0]
    content = {
        "title": "Odd rows of a table",
        "data": DataFacts("table.csv", N, n_columns, "2026-01-01 12:00", "0", {"oddatom": "0.1.0"}),
        "detector": "OddAtomDetector",
        "scores": scores,
        "n_anomalies": 5,
        "offset": float(scores[5]),
        "threshold": "The cut flags five rows.",
        "parameters": {"nu": "0.1"},
        "decisions": tuple(ColumnDecision(name, "number", "used as it is") for name in columns),
        "p_values": np.linspace(0.001, 1, N),
        "columns": columns,
        "top": tuple(
            TopRow(7 * (k + 1), k + 1, float(scores[k]), 0.01 * (k + 1), k < 5, [f"{(5 * k) % 11}.5"] * n_columns)
            for k in range(n_top)
        ),
        "contribution_columns": columns,
        "contributions": shares / shares.sum(axis=1, keepdims=True),
        "row_map": RowMap(
            points,
            7 * (np.arange(P) + 1),
            scores[:P],
            np.where(np.arange(P) < n_top, np.arange(P) + 1, 0),
            np.arange(P) < 5,
        ),
        "atoms": (AtomUse("member 1, atom 2 +", 0.5, 0.01, ("high column 0", "low column 1")),),
        "curves": tuple(Curve(f"member {b}", tuple(1.0 / (1 + k + b) for k in range(9))) for b in range(8)),
        "curve_axes": ("step", "mean square left"),
        "how_to": (HowTo("Score other rows:", "oddatom score model.oddatom table.csv\nls"),),
        "warnings": ("Two columns are constant.",),
        "notes": {"rows": "Rows are numbered from 0.", "atoms": "How to read them."},
    }
    return ReportContent(**{**content, **others})


def hostile_content(texts=HOSTILE):
    """The same with a hostile text wherever a text may stand."""
    n = len(texts)
    everything = " ".join(texts)
    plain = plain_content(n_top=n, n_columns=n)
    return plain_content(
        n_top=n,
        n_columns=n,
        title=everything,
        data=DataFacts(everything, 300, n, texts[0], texts[1], {text: text for text in texts}),
        detector=everything,
        threshold=everything,
        parameters={text: text for text in texts},
        decisions=tuple(ColumnDecision(text, text, text) for text in texts),
        columns=texts,
        contribution_columns=texts,
        top=tuple(
            TopRow(row.row, row.rank, row.score, row.p_value, row.is_anomaly, texts[k:] + texts[:k])
            for k, row in enumerate(plain.top)
        ),
        atoms=tuple(AtomUse(text, 0.5, 0.1, texts) for text in texts),
        curves=tuple(Curve(text, (2.0, 1.0)) for text in texts[:3]),
        curve_axes=(texts[13], texts[0]),
        how_to=tuple(HowTo(text, text) for text in texts),
        warnings=texts,
        notes=dict.fromkeys(("rows", "contributions", "map", "atoms", "curves", "p_values"), everything),
    )


VOID = {"meta", "link", "input", "img", "br"}


class Outline(HTMLParser):
    """Tags, attributes, texts by element, and whether every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.cells, self.crossed = [], [], [], [], False
        self.scripts = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")
        if tag == "script":
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        self.crossed |= not self.open or self.open.pop() != tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.cells[-1] += data
        if "script" in self.open:
            kind, text = self.scripts[-1]
            self.scripts[-1] = kind, text + data
