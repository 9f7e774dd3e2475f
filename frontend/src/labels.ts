// Names of series at the ends of their lines, where the eye already is, instead of a key.

import type uPlot from "uplot";

const LINE_HEIGHT = 14;
const BAND_MIN = 9; // CSS pixels: a name beside a thinner band would point at nothing

interface Label {
  text: string;
  colour: string;
  y: number;
}

export function drawLabels(
  plot: uPlot, colours: string[], stacked: boolean, font: string,
): void {
  const ratio = devicePixelRatio;
  const ends = endLabels(plot, colours);
  const labels = stacked ? bandLabels(ends, plot.valToPos(0, "y", true)) : ends;
  const { ctx, bbox } = plot;
  spreadApart(labels, LINE_HEIGHT * ratio, bbox.top);
  ctx.save();
  ctx.font = font;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const label of labels) {
    ctx.fillStyle = label.colour;
    ctx.fillText(label.text, bbox.left + bbox.width + 6 * ratio, label.y);
  }
  ctx.restore();
}

function endLabels(plot: uPlot, colours: string[]): Label[] {
  const labels: Label[] = [];
  plot.series.forEach((series, index) => {
    const values: (number | null | undefined)[] = Array.from(plot.data[index] ?? []);
    const last = values.findLast((value) => value !== null);
    if (index === 0 || !series.show || last === undefined || last === null) return;
    const text = String(series.label);
    labels.push({ text, colour: colours[index - 1] ?? "", y: plot.valToPos(last, "y", true) });
  });
  return labels.sort((a, b) => a.y - b.y);
}

// A band's name stands in the middle of where it ends.
function bandLabels(tops: Label[], ground: number): Label[] {
  return tops
    .map((label, index) => ({ label, below: tops[index + 1]?.y ?? ground }))
    .filter(({ label, below }) => below - label.y >= BAND_MIN * devicePixelRatio)
    .map(({ label, below }) => ({ ...label, y: (label.y + below) / 2 }));
}

// Each goes up to where the one below leaves it room, and none above the plot: there it is cut.
function spreadApart(labels: Label[], gap: number, top: number): void {
  for (let index = labels.length - 2; index >= 0; index--) {
    const label = labels[index];
    const below = labels[index + 1];
    if (label && below) label.y = Math.min(label.y, below.y - gap);
  }
  for (const [index, label] of labels.entries()) label.y = Math.max(label.y, top + index * gap);
}
