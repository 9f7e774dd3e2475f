// Events above a plot: a row for each kind with its name once, so that a hundred checkpoints
// read as well as one. What they fall on is tinted through the plot.

import type uPlot from "uplot";
import type { LaneData } from "./data";
import { colour, translucent } from "./theme";

const ROW = 15;
const BAR = 7;
const BAR_MIN = 3; // what lasted an instant is still to be seen

export function laneRoom(lanes: LaneData[]): number {
  return lanes.length * ROW;
}

export function drawLanes(
  plot: uPlot, lanes: LaneData[], above: number, font: string,
): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = font.replace(/\d+px/, `${11 * ratio}px`);
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  lanes.forEach((lane, index) => {
    const middle = bbox.top - (above + (lanes.length - index) * ROW - 2) * ratio;
    ctx.fillStyle = colour("--muted");
    ctx.fillText(lane.label, bbox.left - 6 * ratio, middle);
    for (const span of lane.spans) drawSpan(plot, span, middle);
  });
  ctx.restore();
}

function drawSpan(plot: uPlot, span: LaneData["spans"][number], middle: number): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const left = Math.max(plot.valToPos(span.begin_s, "x", true), bbox.left);
  const right = Math.min(plot.valToPos(span.end_s, "x", true), bbox.left + bbox.width);
  if (right < left) return;
  const width = Math.max(right - left, BAR_MIN * ratio);
  if (!span.strong) {
    ctx.fillStyle = translucent(colour("--ink"), 0.06);
    ctx.fillRect(left, bbox.top, width, bbox.height);
  }
  ctx.fillStyle = translucent(colour("--ink"), span.strong ? 0.7 : 0.35);
  ctx.fillRect(left, middle - (BAR * ratio) / 2, width, BAR * ratio);
}
