"""Reports in a browser: opened, read, saved from and printed, as the tests of them share it."""

import csv
import re
import subprocess
import urllib.parse

POLICIES = ["uniform", "constant:treat", "constant:control"]
WIDTHS = [390, 768, 1440]
SVG = "{http://www.w3.org/2000/svg}"
LOOKS = [(390, "light"), (390, "dark"), (768, "light"), (1440, "dark"), (1440, "light")]


def run(seawall, *words):
    done = subprocess.run([seawall, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def words_of(policies):
    return [word for policy in policies for word in ("--policy", policy)]


def opened(browser, path, **options):
    """The page, and what went wrong with it: requests, messages, errors, dialogs."""
    page = browser.new_context(**options).new_page()
    wrong = []
    page.on("request", lambda r: r.url == path.as_uri() or wrong.append(f"request {r.url}"))
    page.on("console", lambda m: wrong.append(f"console {m.text}"))
    page.on("pageerror", lambda e: wrong.append(f"error {e}"))
    page.on("dialog", lambda d: (wrong.append(f"dialog {d.message}"), d.dismiss()))
    page.goto(path.as_uri())
    return page, wrong


def values(page):
    cells = page.locator("strong[data-policy]")
    return [cells.nth(k).inner_text() for k in range(cells.count())]


def same(shown, said):
    """Whether two texts are the same number, each as far as it is told."""
    if "inf" in shown or "inf" in said:
        return shown == said

    def last(text):
        """What the last digit is worth."""
        digits, _, power = text.partition("e")
        return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))

    return abs(float(shown) - float(said)) <= 0.51 * (last(shown) + last(said))


# The smallest contrast of any text with what is behind it: the ratio, and the text.
CONTRAST = """() => {
  const parts = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = (c) => { const f = parts(c).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const behind = (e) => { for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor; if (parts(c)[3] === 1) return c; } return "rgb(255,255,255)"; };
  let least = [99, ""];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, style = getComputedStyle(e);
    if (!walk.currentNode.textContent.trim() || ["SCRIPT", "STYLE"].includes(e.tagName)) continue;
    const [a, b] = [light(e.closest("svg") ? style.fill : style.color), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least[0]) least = [ratio, walk.currentNode.textContent.slice(0, 60)];
  }
  return least;
}"""


def saved(page, locator):
    with page.expect_download() as waiting:
        locator.click()
    return waiting.value.suggested_filename, waiting.value.path().read_bytes()


def look(browser, text):
    """The drawing as a viewer shows it: its size, and its colours as `r,g,b`."""
    page = browser.new_page()
    try:
        source = "data:image/svg+xml;charset=utf-8," + urllib.parse.quote(text)
        return page.evaluate(
            """async (source) => { const image = new Image(); image.src = source; await image.decode();
              const canvas = document.createElement('canvas');
              [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
              const pen = canvas.getContext('2d'); pen.drawImage(image, 0, 0);
              const data = pen.getImageData(0, 0, canvas.width, canvas.height).data, colours = {};
              for (let k = 0; k < data.length; k += 4) { const c = [...data.slice(k, k + 3)].join(); colours[c] = (colours[c] || 0) + 1; }
              return [canvas.width, canvas.height, colours]; }""",
            source,
        )
    finally:
        page.close()


def rows_of(text):
    return list(csv.DictReader(text.decode("utf-8").splitlines()))


def pages_of(pdf):
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))
