// One chart over time. Knows uPlot; does not know what its numbers mean.

import uPlot from "uplot";
import type { ChartData, SeriesData } from "./data";
import { formatSeconds, formatValue } from "./format";
import { drawLabels } from "./labels";
import { drawLanes, laneRoom } from "./lanes";
import { drawMarks, markRoom } from "./marks";
import { stack } from "./stack";
import { colour, mixed, onThemeChange, translucent } from "./theme";

const FONT = "12px system-ui, sans-serif";
// The static heat map (report/sections/heat_map.py) has the same edges.
const LABEL_ROOM = 58;
const TICK_ROOM = 62;
const LANE_NAME_ROOM = 80; // for the names of events, left of their rows

export function drawChart(place: HTMLElement, data: ChartData): void {
  let plot = create(place, data);
  const redraw = (): void => {
    plot.destroy();
    plot = create(place, data);
  };
  onThemeChange(redraw);
  new ResizeObserver(() => plot.setSize(sizeOf(place, data))).observe(place);
}

function create(place: HTMLElement, data: ChartData): uPlot {
  const values = data.series.map((series) => series.values);
  const columns = [data.x, ...(data.stacked ? stack(values) : values)];
  return new uPlot(options(place, data), columns as uPlot.AlignedData, place);
}

function sizeOf(place: HTMLElement, data: ChartData): { width: number; height: number } {
  const width = Math.max(place.clientWidth, 200);
  const height = width < 500 ? data.height * 0.8 : data.height;
  return { width, height: height + roomAbove(data) };
}

// For the names of marks and the rows of events, between the plot and the upper edge.
function roomAbove(data: ChartData): number {
  return markRoom(data.marks) + laneRoom(data.lanes);
}

function options(place: HTMLElement, data: ChartData): uPlot.Options {
  return {
    ...sizeOf(place, data),
    padding: [12 + roomAbove(data), LABEL_ROOM, 0, 0],
    legend: { show: true, live: true },
    cursor: { points: { size: 7 }, drag: { x: true, y: false }, y: false },
    scales: { x: xScale(data), y: yScale(data) },
    axes: [xAxis(), yAxis(data)],
    series: [timeSeries(), ...data.series.map((series) => lineSeries(series, data))],
    hooks: {
      drawClear: [
        (plot) => drawMarks(plot, data.marks, scaledFont()),
        (plot) => drawLanes(plot, data.lanes, markRoom(data.marks), scaledFont()),
      ],
      draw: [(plot) => drawLabels(plot, labelColours(data), data.stacked, scaledFont())],
    },
  };
}

// A band is identified by its place and the key; its colour, made for areas, is too faint for text.
function labelColours(data: ChartData): string[] {
  return data.series.map((series) => colour(data.stacked ? "--muted" : series.colour));
}

// The whole run, from end to end, unless somebody has dragged out a part of it.
function xScale(data: ChartData): uPlot.Scale {
  const [first, last] = [data.x[0], data.x[data.x.length - 1]];
  return {
    time: false,
    range: (_plot, low, high) =>
      low === first && high === last ? [data.begin_s, data.end_s] : [low, high],
  };
}

function yScale(data: ChartData): uPlot.Scale {
  if (data.scale === "log") {
    return { distr: 3, log: 10, range: (_plot, low, high) => [roundDown(low), roundUp(high)] };
  }
  return { range: (_plot, _low, high) => [0, (high || 1) * 1.06] };
}

// The ends and the lines of a logarithmic axis stand at 1, 2 and 5 times powers of ten.
const STEPS = [1, 2, 5, 10];

function roundDown(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return power * (STEPS.findLast((step) => step * power <= value * 1.0001) ?? 1);
}

function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return power * (STEPS.find((step) => step * power >= value * 0.9999) ?? 10);
}

function isStep(tick: number): boolean {
  const lead = tick / 10 ** Math.floor(Math.log10(tick) + 1e-9);
  return STEPS.some((step) => Math.abs(lead - step) < 0.01);
}

function onlySteps(data: ChartData): uPlot.Axis.Filter {
  return (_plot, ticks) =>
    ticks.map((tick) => (data.scale === "linear" || isStep(tick) ? tick : null));
}

function axis(): uPlot.Axis {
  return {
    font: FONT,
    stroke: colour("--muted"),
    grid: { stroke: colour("--rule"), width: 1 },
    ticks: { show: false },
  };
}

// Steps of time that fall on whole minutes and hours once they are that long.
const TIME_STEPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400,
];

function xAxis(): uPlot.Axis {
  return {
    ...axis(),
    incrs: TIME_STEPS,
    space: 80,
    grid: { show: false },
    size: 26,
    values: (_plot, ticks) => ticks.map(formatSeconds),
  };
}

function yAxis(data: ChartData): uPlot.Axis {
  return {
    ...axis(),
    size: data.lanes.length ? LANE_NAME_ROOM : TICK_ROOM,
    filter: onlySteps(data),
    grid: { stroke: colour("--rule"), width: 1, filter: onlySteps(data) },
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
    ...dress(series, data.stacked, solid),
    paths: series.emphasis === "bars" ? uPlot.paths.bars?.({ size: [0.8, 6] }) : undefined,
    points: { size: 6, stroke: solid, fill: solid, show: false, filter: () => lonely(series) },
    spanGaps: false,
    // Of stacked lines, the value is shown without those below.
    value: (_plot, _drawn, _series, index) =>
      formatValue(index === null ? null : series.values[index], data.unit),
  };
}

// A point between gaps has no line to show it: the only one of a short run, or a look at the
// server in a second of many intervals.
function lonely({ values, emphasis }: SeriesData): number[] {
  const isGap = (index: number): boolean => (values[index] ?? null) === null;
  if (emphasis === "bars") return [];
  return [...values.keys()].filter(
    (index) => !isGap(index) && isGap(index - 1) && isGap(index + 1),
  );
}

// Areas that lie on each other are parted by a line in the colour of the page.
function dress(series: SeriesData, stacked: boolean, solid: string): uPlot.Series {
  if (stacked) return { stroke: colour("--page"), width: 1, fill: mixed(solid, colour("--page")) };
  return {
    stroke: solid,
    width: series.emphasis === "thin" ? 1 : 1.8,
    fill: series.emphasis === "bars" ? translucent(solid, 0.35) : undefined,
  };
}

function scaledFont(): string {
  return FONT.replace("12px", `${12 * devicePixelRatio}px`);
}
