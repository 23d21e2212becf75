"""The colors of classes: the same in pages and figures, and told apart by color-blind people on both papers."""

import re
from itertools import combinations

import numpy as np
import pytest

from lowland.evidence.reliability import CLASSES
from lowland.pages.bundle import page_text
from lowland.plots.style import COLORS, MEANINGS

# What dichromats see, in linear RGB (Machado, Oliveira and Fernandes 2009, doi:10.1109/TVCG.2009.113).
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227969], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)


def linear(colors):
    s = np.array([[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in colors])
    return np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    t = np.clip(rgb, 0, 1) @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def contrast(a, b):
    dark, light = sorted(float((linear([color]) @ TO_XYZ[1]).item()) for color in (a, b))
    return (light + 0.05) / (dark + 0.05)


def test_pages_and_figures_have_the_same_colors():
    listed = re.search(r"export const COLORS = \[(.*?)\]", page_text("view/colors.js"), re.DOTALL)[1]
    assert tuple(re.findall(r'"(#\w{6})"', listed)) == COLORS


def test_classes_of_reliability_have_one_meaning_in_pages_and_figures():
    listed = re.search(r"const MEANINGS = new Map\(\[(.*?)\]\);", page_text("view/colors.js"), re.DOTALL)[1]
    assert {name: int(look) for name, look in re.findall(r'\["(\w+)", (\d+)\]', listed)} == MEANINGS
    assert tuple(MEANINGS) == CLASSES


@pytest.mark.parametrize("vision", VISIONS)
def test_any_two_of_ten_classes_differ_in_color(vision):
    assert len(COLORS) == 10
    seen = lab(linear(COLORS) @ np.transpose(VISIONS[vision]))
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 20  # 2 is just noticeable


def test_no_class_is_gray_or_lost_on_paper():
    assert np.hypot(*lab(linear(COLORS)).T[1:]).min() > 30
    white, night = re.findall(r'paper: "(#\w{6})"', page_text("view/colors.js"))
    assert min(contrast(color, night) for color in COLORS) > 3
    assert lab(linear([white]))[0, 0] - lab(linear(COLORS))[:, 0].max() > 15  # points have a dark rim as well
