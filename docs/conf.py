"""How the documentation is built: `make docs`."""

import sys
from pathlib import Path

import oddatom

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "oddatom"
copyright = "2026, the oddatom developers"
release = version = oddatom.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "mathml",  # _ext: formulas that need no script and no network
    "own_members",  # _ext: of inherited methods only those of this package
]
root_doc = "index"
exclude_patterns = ["_build", "images/*.py"]
templates_path = ["_templates"]
default_role = "py:obj"  # `score_samples` in a docstring
highlight_language = "none"
smartquotes = False  # "l21" is a value
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # docstrings say what they are
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py",
    "within_subsection_order": "gallery_order.ByQuestion",
    "doc_module": ("oddatom",),
    "reference_url": {"oddatom": None},
    "backreferences_dir": "generated/backreferences",
    "show_memory": False,
    "capture_repr": (),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,  # that page loads scripts from elsewhere
}

html_theme = "pydata_sphinx_theme"
html_title = f"oddatom {release}"
html_static_path = ["_static"]
html_css_files = ["oddatom.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "choosing": [], "quickstart": []}
html_theme_options = {
    "show_nav_level": 1,
    "navigation_with_keys": False,
    # Examples do without: their code needs the width. No page may match two patterns.
    "secondary_sidebar_items": {"[!a]*": ["page-toc"], "api": ["page-toc"], "generated/*": ["page-toc"]},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
