"""The site that ``make docs`` builds: Sphinx, which reads the Markdown pages of this folder by MyST."""

from ahd import __version__

project = "ahd"
version = release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "docs.extensions.commands",
    "docs.extensions.mathml",
    "docs.extensions.outside",
]
html_theme = "furo"
html_title = f"ahd {version}"
html_copy_source = False
html_show_copyright = False
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
smartquotes = False  # they would make one dash of the two before an option
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True
