"""What a browser shows of the drawings in a page."""

import base64
import re
import zlib

COUNT = """async ([source, wanted]) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let at = 0; at < data.length; at += 4) {
        found += wanted.every((part, index) => Math.abs(data[at + index] - part) < 80);
    }
    return found;
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


def colour_of(page, name):
    """A custom property of the style sheet, as computed colours are written."""
    return page.evaluate(
        """(name) => {
            const probe = document.body.appendChild(document.createElement("i"));
            probe.style.color = `var(${name})`;
            const { color } = getComputedStyle(probe);
            probe.remove();
            return color;
        }""",
        name,
    )


def coloured(page, selector, name):
    """How many pixels where an element is on the screen have about a colour of the style sheet."""
    element = page.locator(selector)
    element.scroll_into_view_if_needed()
    shot = base64.b64encode(page.screenshot(clip=element.bounding_box())).decode()
    wanted = [int(part) for part in re.findall(r"\d+", colour_of(page, name))[:3]]
    counting = page.context.browser.new_page()  # the page may have no scripts
    found = counting.evaluate(COUNT, [f"data:image/png;base64,{shot}", wanted])
    counting.close()
    return found


def scale_of_print(pdf):
    """How large the first printed page is drawn; 1 is 96 CSS pixels to the inch."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    pages = (zlib.decompress(one) for one in streams if one.startswith(b"x"))
    drawn = next(page for page in pages if page.count(b" cm") > 1)
    paper, page, *_ = re.findall(rb"([\d.]+) 0 0 -?[\d.]+ \S+ \S+ cm", drawn)
    return float(paper) * float(page) / (72 / 96)


def misplaced_texts(page):
    """Texts that leave their drawing, or lie on another text."""
    return page.evaluate(MISPLACED)
