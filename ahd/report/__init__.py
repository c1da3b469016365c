"""Reports: one page of a run or a comparison that needs no network, its figures and a Markdown summary."""
