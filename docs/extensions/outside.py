"""Links to folders and pages of the repository that are no part of the site: there, their text alone is left.

Links to other files need nothing: the site carries the files.
"""

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(LinksOutside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class LinksOutside(SphinxPostTransform):
    """Comes before MyST would complain of them. Targets that are nowhere are left for it to complain of."""

    default_priority = 5

    def run(self, **kwargs: object) -> None:
        for link in list(self.document.findall(pending_xref)):
            if link["reftype"] == "myst" and self._is_outside(link["reftarget"]):
                link.replace_self(nodes.inline("", "", *link[0].children))

    def _is_outside(self, target: str) -> bool:
        """Whether ``target``, relative to the page or, in what it includes of the README, to the repository,
        is there and no page."""
        root = self.env.srcdir.parent
        if target in self.env.all_docs:
            return False
        places = (self.env.srcdir / target, root / target, root / f"{target}.md")
        return any(place.resolve().is_relative_to(root) and place.exists() for place in places)
