"""The report as a browser shows it: Debian's or any other chromium, driven by Playwright."""

import dataclasses
import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest
from time_contents import hostile_time_content, time_content

from oddatom.report import TopRow, write_report
from report_contents import HOSTILE, hostile_content, plain_content

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
ARGUMENTS += ["--disable-background-networking", "--disable-component-update"]
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    contents = {
        "plain": plain_content(),
        "hostile": hostile_content(),
        "wide": plain_content(n_columns=40),
        "time": time_content(),
        "hostile time": hostile_time_content(),
    }
    return {name: write_report(folder / f"{name}.html", content) for name, content in contents.items()}


@pytest.fixture
def show(browser):
    """Open a report; what the page loads, logs or throws is collected in `page.seen`."""
    pages = []

    def show(path: Path, **options):
        page = browser.new_page(**options)
        page.seen = []
        page.on("console", lambda message: page.seen.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: page.seen.append(f"error: {error}"))
        page.on("request", lambda request: page.seen.append(f"request: {request.url}"))
        page.on("dialog", lambda dialog: page.seen.append(f"dialog: {dialog.message}"))
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield show
    for page in pages:
        page.close()


def column(page, name):
    """The texts of a column of the table of top rows, of the rows that are shown."""
    k = page.locator("#top thead th").all_text_contents().index(name)
    return page.evaluate(
        "k => [...document.querySelectorAll('#top tbody tr')].filter(r => r.offsetParent)"
        ".map(r => r.cells[k].textContent)",
        k,
    )


def sorted_by(page):
    marked = page.locator("#top th[aria-sort]")
    assert marked.count() == 1
    return marked.text_content(), marked.get_attribute("aria-sort")


@pytest.mark.parametrize("name", ["plain", "time"])
def test_opens_without_errors_and_requests_nothing(show, files, name):
    page = show(files[name])
    page.mouse.wheel(0, 5000)
    assert page.seen == [f"request: {files[name].as_uri()}"]
    assert page.title() == "Odd rows of a table"


@pytest.mark.parametrize("name", ["hostile", "hostile time"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_cells_run_nothing(show, files, name, scheme):
    page = show(files[name], color_scheme=scheme)
    for details in page.locator("details").all():
        details.evaluate("element => element.open = true")
    for element in page.locator("#top tbody tr:first-child td, #top thead button").all():
        element.dispatch_event("mouseover")
        element.dispatch_event("click")
    page.locator("#filter").fill("<script>")
    page.keyboard.press("Tab")
    assert page.evaluate("window.broken") is None
    assert page.locator("script").count() == 2
    assert page.seen == [f"request: {files[name].as_uri()}"]
    assert page.locator("td", has_text=HOSTILE[0]).first.inner_text() == HOSTILE[0]


def test_a_script_that_came_in_would_not_run(show, files, tmp_path):
    broken = tmp_path / "broken.html"
    text = files["plain"].read_text()
    broken.write_text(
        text.replace("</main>", "<script>window.broken = 1</script><img src=x onerror='broken=1'></main>")
    )
    page = show(broken)
    assert page.evaluate("window.broken") is None
    assert any("Content Security Policy" in line for line in page.seen)


def test_sorting_by_clicking(show, files):
    page = show(files["plain"])
    assert sorted_by(page) == ("Rank", "ascending")
    values = [float(v) for v in column(page, "column 0")]
    assert values != sorted(values)
    button = page.locator("#top th button", has_text="column 0")
    button.click()
    assert [float(v) for v in column(page, "column 0")] == sorted(values)
    assert sorted_by(page)[1] == "ascending"
    button.click()
    assert [float(v) for v in column(page, "column 0")] == sorted(values, reverse=True)
    assert sorted_by(page)[1] == "descending"
    page.locator("#top th button", has_text="Score").click()
    assert column(page, "Rank") == [str(k + 1) for k in range(12)]
    assert sorted_by(page) == ("Score", "ascending")


def test_sorting_by_keyboard(show, files):
    page = show(files["plain"])
    page.locator("#filter").focus()
    page.keyboard.press("Tab")  # the table, which scrolls
    page.keyboard.press("Tab")  # the first heading
    assert page.evaluate("document.activeElement.textContent") == "Rank"
    page.keyboard.press("Enter")
    assert column(page, "Rank") == [str(k) for k in range(12, 0, -1)]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert column(page, "Row") == [str(7 * (k + 1)) for k in range(12)]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_numbers_sort_as_numbers_and_empty_cells_come_last(show, tmp_path):
    cells = ["10", "9", "", "-3e2", "0.5"]
    scores = [-np.inf, -5.0, -4.0, -3.0, -2.0]
    top = [TopRow(k, k + 1, scores[k], None, False, [cells[k], f"T{cells[k]}"]) for k in range(5)]
    content = plain_content(n_top=5, n_columns=2, p_values=None)
    page = show(write_report(tmp_path / "numbers.html", dataclasses.replace(content, top=top)))
    page.locator("#top th button", has_text="column 0").click()
    assert column(page, "column 0") == ["-3e2", "0.5", "9", "10", ""]
    page.locator("#top th button", has_text="column 0").click()
    assert column(page, "column 0") == ["10", "9", "0.5", "-3e2", ""]
    page.locator("#top th button", has_text="Score").click()
    assert column(page, "Rank") == ["1", "2", "3", "4", "5"]
    page.get_by_label("Filter the rows").fill("t9")
    assert column(page, "Rank") == ["2"]


def test_filter(show, files):
    page = show(files["plain"])
    box, count = page.get_by_label("Filter the rows"), page.locator("#count")
    assert count.inner_text() == "12 rows"
    box.fill("84")
    assert column(page, "Row") == ["84"]
    assert count.inner_text() == "1 of 12 rows"
    box.fill("COLUMN 3")  # every row has a bar for it
    assert len(column(page, "Row")) == 12
    box.fill("nowhere")
    assert column(page, "Row") == []
    assert count.inner_text() == "0 of 12 rows"
    box.fill("")
    assert count.inner_text() == "12 rows"
    box.fill("yes")
    page.locator("#top th button", has_text="Rank").click()
    assert column(page, "Rank") == ["5", "4", "3", "2", "1"]


@pytest.mark.parametrize("name", ["plain", "wide", "hostile", "time", "hostile time"])
@pytest.mark.parametrize("width", [320, 400, 1280])
def test_the_page_is_never_wider_than_the_screen(show, files, name, width):
    page = show(files[name], viewport={"width": width, "height": 844})
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if name == "wide":
        assert page.evaluate("(e => e.scrollWidth > e.clientWidth)(document.querySelector('.tall'))")


def test_map_says_the_row_under_the_pointer_and_by_keys(show, files):
    page = show(files["plain"])
    content, out = plain_content(), page.locator("#map-here")
    drawing = page.locator("#map svg")
    drawing.scroll_into_view_if_needed()
    circle = page.locator("#map circle.top").last  # the oddest is drawn last
    box = circle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    first, second = content.top[0], content.top[1]
    said = "Row 7: score {}, rank 1, flagged".format(f"{first.score:.2f}".replace("-", "−"))
    assert out.inner_text() == said
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    assert out.inner_text() == said
    page.keyboard.press("ArrowRight")
    assert out.inner_text().startswith(f"Row {second.row}: ")
    page.keyboard.press("ArrowLeft")
    assert out.inner_text() == said
    assert out.get_attribute("aria-live") == "polite"


@pytest.mark.parametrize("name", ["plain", "time"])
def test_it_can_be_read_without_seeing_it(show, files, name):
    page = show(files[name])
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1])")
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.caption && t.caption.textContent)")
    assert page.evaluate("[...document.querySelectorAll('th')].every(t => t.scope)")
    assert page.evaluate("[...document.querySelectorAll('input')].every(i => i.labels.length)")
    drawings = page.evaluate(
        "[...document.querySelectorAll('svg[role=img]')].map(s => s.querySelector('title').textContent)"
    )
    assert all(drawings)
    assert len(drawings) == (15 if name == "time" else 3)
    assert page.evaluate("[...document.querySelectorAll('button')].every(b => b.textContent)")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("name", ["plain", "time"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE])
def test_axe_finds_nothing(show, files, name, scheme, viewport):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = show(files[name], color_scheme=scheme, viewport=viewport)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    response = axe.Axe().run(page).response
    found = response["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []
    assert {"color-contrast", "scrollable-region-focusable", "label"} <= {one["id"] for one in response["passes"]}


def test_print_shows_all_rows_on_the_page(show, files):
    page = show(files["wide"])
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    assert page.locator("nav").is_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('.tall')).maxHeight") == "none"
    assert page.locator("#top tbody tr").last.is_visible()
    assert page.locator("#top td.cell").first.is_hidden()  # bars name the values that matter


CONTRASTS = """() => {
  const luminance = (colour) => {
    const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((v) => v / 255);
    const [r, g, b] = parts.map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const page = luminance(getComputedStyle(document.body).backgroundColor);
  const contrast = (kind, part) => {
    const own = luminance(getComputedStyle(document.querySelector(`#time ${kind}`))[part]);
    return (Math.max(own, page) + .05) / (Math.min(own, page) + .05);
  };
  return {
    tick: contrast(".tick", "fill"), rank: contrast(".rank", "fill"), top: contrast("circle:not(.open)", "fill"),
    open: contrast("circle.open", "stroke"),
    line: contrast(".line", "stroke"), flagged: contrast(".flagged", "stroke"),
    threshold: contrast(".threshold", "stroke"), level: contrast(".level", "stroke"),
  };
}"""


@pytest.mark.parametrize("width", [400, 1200])
def test_drawings_over_time_fill_the_page(show, files, width):
    page = show(files["time"], viewport={"width": width, "height": 900})
    for name, heading in (("time", "Over time"), ("groups", "Groups")):
        assert page.locator(f"#{name}").is_visible()
        assert page.locator(f"#{name} h2").inner_text() == heading
        assert page.locator(f"nav a[href='#{name}']").inner_text() == heading
    drawings = page.locator("#time svg[role=img]")
    assert drawings.count() == 12  # the large one, and of twelve rows those with numbers
    boxes = [drawing.bounding_box() for drawing in drawings.all()]
    assert boxes[0]["width"] > 0.7 * width
    assert all(box["width"] > 180 and box["height"] > 90 for box in boxes)
    lines = [line.bounding_box() for line in page.locator("#time .lines").all()]
    for box, line in zip(boxes, lines, strict=True):
        assert line["width"] == pytest.approx(box["width"], abs=12)  # strokes and dots stick out
        assert line["height"] == pytest.approx(box["height"], rel=0.15)


@pytest.mark.parametrize("width", [400, 1200])
def test_texts_over_time_do_not_overlap(show, files, width):
    page = show(files["time"], viewport={"width": width, "height": 900})
    for drawing in page.locator("#time svg[role=img]").all():
        boxes = drawing.evaluate(
            "s => [...s.querySelectorAll('text')].map(t => t.getBoundingClientRect()).filter(r => r.width)"
            ".map(r => [r.left, r.top, r.right, r.bottom])"
        )
        assert len(boxes) >= 4
        assert all(bottom - top >= 12 for _, top, _, bottom in boxes)
        assert all(left >= 0 and right <= width for left, _, right, _ in boxes)
        for one, two in itertools.combinations(boxes, 2):
            apart = one[2] <= two[0] or two[2] <= one[0] or one[3] - 3 <= two[1] or two[3] - 3 <= one[1]
            assert apart, (one, two)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_drawings_over_time_are_legible(show, files, scheme):
    page = show(files["time"], color_scheme=scheme)
    found = page.evaluate(CONTRASTS)
    assert min(found["tick"], found["rank"]) >= 4.5
    assert min(found.values()) >= 2.9, found
