"""The page in a browser: at two widths, by day and by night, from a file, without complaints.

It needs the package ``playwright`` and a Chromium that is installed; without them it is skipped.
"""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

import lanewise as lw

#: Names under which systems install it; LANEWISE_BROWSER may name another.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("LANEWISE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    with sync_api.sync_playwright() as playwright:
        # Containers have no namespaces for its sandbox; the page is our own.
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


def filtered(signal, taps):
    out = np.zeros_like(signal)
    for i in range(len(signal)):
        for k in range(min(i + 1, len(taps))):
            out[i] += (
                signal[i - k] * taps[k]
            )  # a line that is long, so that a narrow page has to break it
    if out.max() > 1.0:
        out = out / out.max()
    return out, np.linalg.svd(np.outer(taps, taps))[1]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "x.html"
    signals = np.random.default_rng(0).random((50, 32))
    mapped = lw.vmap(filtered, in_dims=(0, None))
    lw.profile(mapped, repeat=1)(signals, np.array([0.5, 0.3, 0.2])).save(path)
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page(browser, saved, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(saved.as_uri())
    assert page.title() == "vmap of filtered"
    closed = page.evaluate("document.documentElement.scrollHeight")
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollHeight") > closed
    assert page.locator("details[open] .ops table").count() == page.locator("details").count() > 3
    # The page does not scroll sideways: what is wide scrolls in its own frame.
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for box in page.locator(".lw .ln").all():
        place = box.bounding_box()
        assert place["x"] >= 0 and place["x"] + place["width"] <= width
    # Text can be read: letters and ground differ, in the drawing too.
    shades = page.evaluate(SHADES)
    assert shades["page"] >= 4.5 and min(shades["chips"]) >= 4.5 and min(shades["boxes"]) >= 4.5
    # What is written in a box of the drawing lies within it.
    assert page.evaluate(WIDEST) <= 0
    assert not complaints and requests == [saved.as_uri()]
    page.close()


#: The contrast of texts (Web Content Accessibility Guidelines 2.2, "contrast ratio").
SHADES = """() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => { const f = v => (v /= 255) <= 0.04045 ? v / 12.92
    : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const ratio = (a, b) => { const [x, y] = [light(rgb(a)), light(rgb(b))].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05); };
  const main = getComputedStyle(document.querySelector('.lw'));
  const chips = [...document.querySelectorAll('.lw .src .chip')].map(chip =>
    ratio(getComputedStyle(chip).color, getComputedStyle(chip.closest('.src')).backgroundColor));
  const boxes = [...document.querySelectorAll('.lw-draw rect')]
    .filter(rect => getComputedStyle(rect).fill !== 'none')
    .map(rect => ratio(getComputedStyle(rect).fill,
      getComputedStyle(rect.parentNode.querySelector('text')).fill));
  return {page: ratio(main.color, main.backgroundColor), chips, boxes};
}"""

#: How far a text sticks out of its box at most.
WIDEST = """() => Math.max(...[...document.querySelectorAll('.lw-draw g > text')].map(text =>
  text.getBoundingClientRect().right
  - text.parentNode.querySelector('rect').getBoundingClientRect().right))"""
