// One chart over time. Knows uPlot; does not know what its numbers mean.

import uPlot from "uplot";
import type { ChartData, MarkData, SeriesData } from "./data";
import { formatSeconds, formatValue } from "./format";
import { drawLabels } from "./labels";
import { colour, onThemeChange, translucent } from "./theme";

const FONT = "12px system-ui, sans-serif";
const LABEL_ROOM = 58;

export function drawChart(place: HTMLElement, data: ChartData): void {
  let plot = create(place, data);
  const redraw = (): void => {
    plot.destroy();
    plot = create(place, data);
  };
  onThemeChange(redraw);
  new ResizeObserver(() => plot.setSize(sizeOf(place))).observe(place);
}

function create(place: HTMLElement, data: ChartData): uPlot {
  const columns = [data.x, ...data.series.map((series) => series.values)];
  return new uPlot(options(place, data), columns as uPlot.AlignedData, place);
}

function sizeOf(place: HTMLElement): { width: number; height: number } {
  const width = Math.max(place.clientWidth, 200);
  return { width, height: width < 500 ? 200 : 260 };
}

function options(place: HTMLElement, data: ChartData): uPlot.Options {
  const solid = data.series.map((series) => colour(series.colour));
  return {
    ...sizeOf(place),
    padding: [12, LABEL_ROOM, 0, 0],
    legend: { show: true, live: true },
    cursor: { points: { size: 7 }, drag: { x: true, y: false }, y: false },
    scales: { x: { time: false }, y: yScale(data) },
    axes: [xAxis(), yAxis(data)],
    series: [timeSeries(), ...data.series.map((series) => lineSeries(series, data))],
    hooks: {
      drawClear: [(plot) => drawMarks(plot, data.marks)],
      draw: [(plot) => drawLabels(plot, solid, scaledFont())],
    },
  };
}

function yScale(data: ChartData): uPlot.Scale {
  if (data.scale === "log") return { distr: 3, log: 10 };
  return { range: (_plot, _low, high) => [0, (high || 1) * 1.06] };
}

function axis(): uPlot.Axis {
  return {
    font: FONT,
    stroke: colour("--muted"),
    grid: { stroke: colour("--rule"), width: 1 },
    ticks: { show: false },
  };
}

function xAxis(): uPlot.Axis {
  return {
    ...axis(),
    grid: { show: false },
    values: (_plot, ticks) => ticks.map(formatSeconds),
  };
}

function yAxis(data: ChartData): uPlot.Axis {
  return {
    ...axis(),
    size: 62,
    values: (_plot, ticks) => ticks.map((tick) => tickText(tick, data)),
  };
}

// uPlot leaves out ticks of a logarithmic axis by giving null.
function tickText(tick: number | null, data: ChartData): string {
  return tick === null ? "" : formatValue(tick, data.unit);
}

function timeSeries(): uPlot.Series {
  return { label: "time", value: (_plot, seconds) => (seconds === null ? "–" : formatSeconds(seconds)) };
}

function lineSeries(series: SeriesData, data: ChartData): uPlot.Series {
  const solid = colour(series.colour);
  return {
    label: series.label,
    stroke: solid,
    width: series.emphasis === "thin" ? 1 : 1.8,
    fill: series.emphasis === "bars" ? translucent(solid, 0.35) : undefined,
    paths: series.emphasis === "bars" ? uPlot.paths.bars?.({ size: [0.8, 6] }) : undefined,
    points: { show: false },
    spanGaps: false,
    value: (_plot, value) => formatValue(value, data.unit),
  };
}

// Stretches that stand apart, such as the warm-up, lie on a tinted ground with their name.
function drawMarks(plot: uPlot, marks: MarkData[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const mark of marks) {
    const left = Math.max(plot.valToPos(mark.from, "x", true), bbox.left);
    const right = Math.min(plot.valToPos(mark.to, "x", true), bbox.left + bbox.width);
    if (right <= left) continue;
    ctx.fillStyle = colour("--ground");
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.fillStyle = colour("--muted");
    ctx.font = scaledFont();
    if (ctx.measureText(mark.label).width < right - left) {
      ctx.fillText(mark.label, left + 4, bbox.top + bbox.height - 8 * devicePixelRatio);
    }
  }
  ctx.restore();
}

function scaledFont(): string {
  return FONT.replace("12px", `${12 * devicePixelRatio}px`);
}
