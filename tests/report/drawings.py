"""What a browser shows of the drawings in a page."""

import re
import zlib

from tests.support.patience import eventually

RECORD = """() => {
    window.written = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        const figure = this.canvas.closest("figure").id;
        window.written.push({ figure, text, x, y, colour: this.fillStyle });
        return write.apply(this, arguments);
    };
}"""
MISPLACED = """() => {
    const overlap = (one, other) =>
        one.left < other.right - 1 && other.left < one.right - 1 &&
        one.top < other.bottom - 2 && other.top < one.bottom - 2;
    const found = [];
    for (const svg of document.querySelectorAll("svg")) {
        const room = svg.getBoundingClientRect();
        if (!room.width) continue;
        const texts = [...svg.querySelectorAll("text")].map((text) => ({
            text: text.lastChild.textContent, box: text.getBoundingClientRect(),
        }));
        for (const [place, { text, box }] of texts.entries()) {
            const beyond = Math.max(
                room.left - box.left, box.right - room.right,
                room.top - box.top, box.bottom - room.bottom);
            if (beyond > 2) found.push(`${text} is beyond its drawing`);
            for (const other of texts.slice(place + 1)) {
                if (overlap(box, other.box)) found.push(`${text} is on ${other.text}`);
            }
        }
    }
    return found;
}"""


def written_in(page, figure, text):
    """The texts of a chart over time by what they say, once it has been drawn again in the dark."""
    page.evaluate(RECORD)
    page.emulate_media(color_scheme="dark")

    def texts():
        return {
            one["text"]: one for one in page.evaluate("window.written") if one["figure"] == figure
        }

    return eventually(texts, lambda found: text in found)


def scale_of_print(pdf):
    """How large the first printed page is drawn; 1 is 96 CSS pixels to the inch."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    pages = (zlib.decompress(one) for one in streams if one.startswith(b"x"))
    drawn = next(page for page in pages if page.count(b" cm") > 1)
    paper, page, *_ = re.findall(rb"([\d.]+) 0 0 -?[\d.]+ \S+ \S+ cm", drawn)
    return float(paper) * float(page) / (72 / 96)


def misplaced_texts(page):
    """Texts that leave their drawing, or lie on another text; those of charts over time aside."""
    return page.evaluate(MISPLACED)
