"""How far an objective is from a value to measure against."""


def relative_gap(objective: float | None, reference: float | None) -> float | None:
    """``(objective - reference) / |reference|``: how much worse, as a share of the reference.

    None where either is unknown, and for a reference of zero.
    """
    if objective is None or reference is None or reference == 0:
        return None
    return (objective - reference) / abs(reference)
