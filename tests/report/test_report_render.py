import base64
import dataclasses
import hashlib
import html
import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddatom.report import ColumnDecision, HowTo, TopRow, render_report, write_report
from oddatom.report.environment import environment
from oddatom.report.limits import LEVELS, Limits
from oddatom.report.text import visible
from oddatom.report.top_rows import BARS, top_rows
from report_contents import HOSTILE, Outline, hostile_content, plain_content

TWO_MB = 2_000_000
LOADS = {"img", "iframe", "object", "embed", "audio", "video", "source", "image", "base", "form"}


@pytest.fixture(scope="module")
def plain():
    return render_report(plain_content())


@pytest.fixture(scope="module")
def hostile():
    return render_report(hostile_content())


def test_same_content_same_report(plain):
    assert render_report(plain_content()) == plain
    assert render_report(plain_content(seed=1)) != plain


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_every_element_is_closed_and_every_id_is_one(name, request):
    outline = Outline(request.getfixturevalue(name))
    assert not outline.crossed
    assert not outline.open
    ids = [value for _, attribute, value in outline.attributes if attribute == "id"]
    assert len(ids) == len(set(ids))
    for attribute in ("aria-labelledby", "aria-describedby", "for"):
        for _, found, value in outline.attributes:
            assert found != attribute or value in ids
    targets = re.findall(r"(?:url\(|href=\")#([^)\"]+)", request.getfixturevalue(name))
    assert set(targets) <= set(ids)
    assert outline.tags.count("h1") == 1


def test_hostile_text_adds_no_element_and_no_attribute(hostile):
    harmless = Outline(render_report(hostile_content(tuple(f"text {k}" for k in range(len(HOSTILE))))))
    outline = Outline(hostile)
    assert set(outline.tags) == set(harmless.tags)
    assert outline.tags.count("script") == 2
    assert {(tag, name) for tag, name, _ in outline.attributes} == {(t, n) for t, n, _ in harmless.attributes}
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]", hostile)
    hostile.encode("utf-8")


def test_hostile_text_is_there_to_read(hostile):
    cells = Outline(hostile).cells
    for text in HOSTILE:
        shown = visible(text)
        assert sum(cell == shown for cell in cells) >= len(HOSTILE), shown
    assert f">{html.escape(HOSTILE[0])} by " in hostile  # the label of the curves, escaped once


def test_nothing_is_loaded(plain, hostile):
    for text in (plain, hostile):
        outline = Outline(text)
        assert not LOADS & set(outline.tags)
        for tag, name, value in outline.attributes:
            assert not name.startswith("on")
            if name in ("src", "href", "xlink:href", "action"):
                assert value.startswith("#") or (tag, value) == ("link", "data:,")
        style = text[text.index("<style>") : text.index("</style>")]
        assert "@import" not in style
        assert "url(" not in style


def test_policy_allows_this_script_alone(plain):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', plain).group(1)
    (script,) = [text for kind, text in Outline(plain).scripts if kind is None]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["style-src"] == "'unsafe-inline'"
    assert rules["img-src"] == "data:"
    assert len(script.encode()) < 6000


def top_table(content):
    limits = Limits()
    template = environment("oddatom.report").get_template("top-table.html")
    return template.render(content=content, limits=limits, top=top_rows(content, limits), bars=BARS)


def test_what_the_top_table_says(plain):
    content = plain_content()
    outline = Outline(top_table(content))
    width = 6 + len(content.columns)
    assert outline.cells[:6] == ["Rank", "Row", "Score", "p-value", "What makes it odd", "Flagged"]
    for k, row in enumerate(content.top):
        cells = outline.cells[width * (k + 1) : width * (k + 2)]
        assert cells[:4] == [str(k + 1), str(7 * (k + 1)), f"{row.score:.2f}".replace("-", "−"), f"{row.p_value:.4f}"]
        assert cells[5] == ("yes" if k < 5 else "no")
        assert cells[6:] == list(row.cells)
        order = np.argsort(-content.contributions[k])
        named = re.findall(r"column \d", cells[4])
        assert named == [content.columns[c] for c in order if content.contributions[k, c] >= 0.005]
    assert plain.count('aria-sort="ascending"') == 1


def test_contributions_beyond_five_are_folded():
    text = top_table(plain_content(n_top=1, n_columns=9))
    first, rest = text.split("<details>")
    assert first.count('class="bar"') == 5
    assert rest.split("</details>")[0].count('class="bar"') == 4
    assert "4 more" in rest


def test_what_is_missing_is_said():
    bare = dataclasses.replace(
        plain_content(),
        p_values=None,
        contributions=None,
        contribution_columns=(),
        row_map=None,
        atoms=(),
        curves=(),
        how_to=(),
        offset=None,
        notes={"contributions": "No contributions here.", "atoms": "No atoms here.", "p_values": "No p here."},
    )
    text = render_report(bare)
    outline = Outline(text)
    assert not outline.crossed
    assert "p-value" not in outline.cells
    assert "What makes it odd" not in outline.cells
    for sentence in ("No contributions", "No atoms", "No p here", "There is no map", "was not saved", "no curves"):
        assert sentence in text


@pytest.mark.parametrize(
    "scores",
    [
        np.zeros(10),
        np.full(10, 1e-300),
        np.r_[-np.inf, np.zeros(9)],
        np.r_[-1e300, np.arange(9.0)],
        np.full(3, -np.inf),
        np.array([2.0]),
        np.arange(5.0) * 1e12,
        1e-9 * np.arange(50.0),
    ],
)
def test_any_scores_are_drawn(scores):
    top = [TopRow(k, k + 1, float(s), None, False, ()) for k, s in enumerate(scores[:3])]
    content = plain_content(n_top=0, scores=scores, p_values=None, columns=(), contributions=None, offset=0.0)
    text = render_report(dataclasses.replace(content, top=top, row_map=None))
    assert not Outline(text).crossed
    assert "nan" not in text[text.index("<body>") : text.index("<script>")]


def test_a_far_score_leaves_the_histogram_readable():
    scores = np.r_[-1e6, np.random.default_rng(0).normal(size=500)]
    text = render_report(plain_content(scores=scores, offset=-3.0))
    labels = re.findall(r">(−?\d+)</text>", text)
    assert all(abs(int(label.replace("−", "-"))) < 100 for label in labels if label not in ("100", "1000"))


def test_the_largest_content_stays_below_two_megabytes():
    rng = np.random.default_rng(0)
    for text in ('"' * 5000, "\u202e" * 5000):
        n = 400
        content = plain_content(
            n_top=300,
            n_columns=n,
            N=1_000_000,
            title=text,
            columns=[f"{c}{text}" for c in range(n)],
            contribution_columns=[f"{c}{text}" for c in range(n)],
            top=[TopRow(k, k + 1, -1.0, 0.1, True, [text] * n) for k in range(300)],
            contributions=rng.dirichlet(np.ones(n), 300),
            decisions=[ColumnDecision(text, text, text)] * 1000,
            warnings=[text] * 500,
            how_to=[HowTo(text, text)] * 500,
            parameters={f"{k}{text}": text for k in range(1000)},
        )
        document = render_report(content)
        assert len(document.encode()) < TWO_MB
        assert not Outline(document).crossed
        assert "To keep the file small" in document
        assert "…" in document


def test_tight_limits_come_last():
    assert all(a >= b for first, second in itertools.pairwise(LEVELS) for a, b in zip(first, second, strict=True))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(st.characters(), max_size=30), min_size=3, max_size=3))
def test_any_cell_stays_a_cell(texts):
    content = dataclasses.replace(
        plain_content(n_top=1, n_columns=3),
        top=[TopRow(1, 1, -1.0, 0.1, True, texts)],
        columns=[f"c{k} {text}" for k, text in enumerate(texts)],
    )
    outline = Outline(top_table(content))
    assert not outline.crossed
    assert outline.cells[-3:] == [visible(text) for text in texts]


def test_only_what_is_displayed_is_in_the_file():
    content = plain_content()
    assert "secret" not in render_report(content)
    assert "secret" in render_report(dataclasses.replace(content, columns=("secret", *content.columns[1:])))


def test_write_replaces_the_file_at_once(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    assert write_report(path, plain_content()) == path
    assert path.read_bytes() == render_report(plain_content()).encode()
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(_):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_report(str(path), plain_content())
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_failed_render_touches_nothing(tmp_path):
    with pytest.raises(AttributeError, match="scores"):
        write_report(tmp_path / "report.html", None)
    assert not list(tmp_path.iterdir())
