// Names of series at the ends of their lines, where the eye already is, instead of a key.

import type uPlot from "uplot";

const LINE_HEIGHT = 14;

interface Label {
  text: string;
  colour: string;
  y: number;
}

export function drawLabels(plot: uPlot, colours: string[], font: string): void {
  const ratio = devicePixelRatio;
  const labels = endLabels(plot, colours);
  spreadApart(labels, LINE_HEIGHT * ratio);
  const { ctx, bbox } = plot;
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

function spreadApart(labels: Label[], gap: number): void {
  for (let index = labels.length - 2; index >= 0; index--) {
    const label = labels[index];
    const below = labels[index + 1];
    if (label && below) label.y = Math.min(label.y, below.y - gap);
  }
}
