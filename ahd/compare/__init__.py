"""``ahd compare``: methods on problems over seeds at equal spend, and what statistics say of them."""
