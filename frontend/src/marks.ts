// Stretches that stand apart, such as the warm-up: a tinted ground, with its name above the plot,
// where no line and no area lies on it.

import type uPlot from "uplot";
import type { MarkData } from "./data";
import { colour } from "./theme";

const ROW = 15;
const GAP = 8; // between two names

export function markRoom(marks: MarkData[]): number {
  return marks.length ? ROW : 0;
}

export function drawMarks(plot: uPlot, marks: MarkData[], font: string): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const end = bbox.left + bbox.width;
  let taken = -Infinity; // up to here the row has names
  ctx.save();
  ctx.font = font;
  for (const mark of marks) {
    const left = Math.max(plot.valToPos(mark.begin_s, "x", true), bbox.left);
    const right = Math.min(plot.valToPos(mark.end_s, "x", true), end);
    if (right <= left) continue;
    ctx.fillStyle = colour("--ground");
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    const width = ctx.measureText(mark.label).width;
    const begin = Math.min(left, end - width);
    if (begin < taken) continue;
    ctx.fillStyle = colour("--muted");
    ctx.fillText(mark.label, begin, bbox.top - 5 * ratio);
    taken = begin + width + GAP * ratio;
  }
  ctx.restore();
}
