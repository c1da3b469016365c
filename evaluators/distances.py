"""Distances of points in the plane."""

import numpy as np


def euclidean(coordinates: np.ndarray) -> np.ndarray:
    """Distances, shape (n, n) float64, of coordinates of shape (n, 2)."""
    x, y = coordinates.T
    return np.asarray(np.sqrt((x[:, None] - x) ** 2 + (y[:, None] - y) ** 2))
