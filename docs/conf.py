"""The site: Sphinx with MyST. `./dev docs` builds it; what is generated is in `cotangent_site/`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "shared")]

project = "cotangent"
author = "the authors of cotangent"
version = release = (HERE.parent / "VERSION").read_text().strip()

extensions = ["myst_parser", "cotangent_site"]
exclude_patterns = ["README.md"]
myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "dollarmath"]
nitpicky = False
default_role = "py:obj"  # of docstrings: names in single backticks are links where there is such a name
highlight_language = "python"
add_module_names = False
python_maximum_signature_line_length = 80
toc_object_entries = False

html_theme = "pydata_sphinx_theme"
html_title = "cotangent"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
copyright = "the authors of cotangent, Apache-2.0"
