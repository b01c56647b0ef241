"""Features of an image, in plain NumPy: each function is written for ONE grey-scale image."""

import numpy as np


def moments(image):
    """Mass, centroid (row, column) and Hu's seven invariants of the central moments.

    The invariants do not change when the image is shifted, scaled or rotated (Hu, 1962).
    """
    rows, columns = np.indices(image.shape)
    mass = image.sum()
    row, column = (rows * image).sum() / mass, (columns * image).sum() / mass

    x, y = columns - column, rows - row

    def eta(p, q):  # a central moment, normalised so that scale drops out
        return (x**p * y**q * image).sum() / mass ** (1 + (p + q) / 2)

    spread, difference, mixed = eta(2, 0) + eta(0, 2), eta(2, 0) - eta(0, 2), 2 * eta(1, 1)
    n30, n21, n12, n03 = eta(3, 0), eta(2, 1), eta(1, 2), eta(0, 3)
    a, b = n30 - 3 * n12, 3 * n21 - n03
    c, d = n30 + n12, n21 + n03
    even, odd = c * (c**2 - 3 * d**2), d * (3 * c**2 - d**2)
    hu = [
        spread,
        difference**2 + mixed**2,
        a**2 + b**2,
        c**2 + d**2,
        a * even + b * odd,
        difference * (c**2 - d**2) + 2 * mixed * c * d,
        b * even - a * odd,
    ]
    return {"mass": mass, "centroid": np.stack([row, column]), "hu": np.stack(hu)}


def deskew(image):
    """Set a slanted image upright: shear its rows about the centroid, by bilinear resampling."""
    rows, columns = np.indices(image.shape)
    mass = image.sum()
    row, column = (rows * image).sum() / mass, (columns * image).sum() / mass
    slant = ((rows - row) * (columns - column) * image).sum() / ((rows - row) ** 2 * image).sum()

    source = columns + slant * (rows - row)  # the column that each pixel comes from
    left = np.floor(source).astype(int)
    weight = source - left
    wide = np.pad(image, ((0, 0), (2, 2)))  # zeros, for what comes from outside
    left = np.clip(left + 2, 0, image.shape[1] + 2)
    return (1 - weight) * wide[rows, left] + weight * wide[rows, left + 1]


def fourier(image):
    """Mean magnitude of the 2-D spectrum on rings of equal frequency, relative to the mean grey.

    It does not change when the image is shifted around its edges, and little when it is rotated.
    """
    frequencies = [np.fft.fftfreq(size, 1 / size) for size in image.shape]
    radius = np.hypot(*np.meshgrid(*frequencies, indexing="ij"))
    rings = np.rint(radius) == np.arange(1 + min(image.shape) // 2)[:, None, None]
    magnitude = np.abs(np.fft.fft2(image))
    profile = (rings * magnitude).sum(axis=(1, 2)) / rings.sum(axis=(1, 2))
    return profile / profile[0]
