"""Draw docs/images/report.png: the report on scikit-learn's breast cancer data, as a browser shows it.

Needs Debian's chromium and Playwright: python docs/images/make_report_image.py
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from oddatom import OddAtomDetector
from oddatom.report import ReportContent, gather_content, write_report

PICTURE = Path(__file__).with_name("report.png")
ARGUMENTS = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"


def content() -> ReportContent:
    """The content of the report: what a command would pass."""
    cancer = load_breast_cancer(as_frame=True)
    names = list(cancer.data.columns)
    X = cancer.data.to_numpy(float)
    detector = OddAtomDetector(random_state=0).fit(X)
    return gather_content(
        detector,
        X,
        names,
        title="Odd rows of breast_cancer.csv",
        file_name="breast_cancer.csv",
        n_columns=len(names),
        when="2026-01-01 12:00",
        decisions=[(name, "number", "used as it is") for name in names],
        display=cancer.data,
    )


def main() -> None:
    """Write the report, look at it, keep the picture."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = write_report(Path(folder) / "report.html", content())
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS.split())
        page = browser.new_page(viewport={"width": 1200, "height": 1640}, color_scheme="light")
        page.goto(page_file.as_uri())
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
