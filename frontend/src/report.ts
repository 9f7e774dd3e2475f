// Shows the values under the pointer in the charts over time. The charts are in the page already,
// as drawings, and their data as JSON beside each and as a table; nothing is fetched.

import type { ChartData } from "./data";
import { formatSeconds, formatValue } from "./format";
import { explore } from "./icicle";

function follow(chart: HTMLElement, data: ChartData): void {
  const cursor = document.createElement("div");
  const readout = document.createElement("p");
  cursor.className = "cursor";
  readout.className = "readout";
  readout.ariaHidden = "true"; // readers have the table
  chart.append(cursor, readout);
  const hide = (): void => {
    cursor.hidden = true;
    readout.replaceChildren();
  };
  hide();
  chart.addEventListener("pointerleave", hide);
  chart.addEventListener("pointermove", (event) => {
    const plot = shownPlot(chart);
    if (!plot || event.clientX < plot.left || event.clientX > plot.right) return hide();
    const span_s = data.end_s - data.begin_s;
    const time_s = data.begin_s + ((event.clientX - plot.left) / plot.width) * span_s;
    const index = nearest(data.x, time_s);
    const at = plot.left + (((data.x[index] ?? 0) - data.begin_s) / span_s) * plot.width;
    const { left, top } = chart.getBoundingClientRect();
    cursor.style.cssText = `left:${at - left}px;top:${plot.top - top}px;height:${plot.height}px`;
    cursor.hidden = false;
    readout.replaceChildren(...values(data, index));
  });
}

// The page has a drawing for each of three widths, and shows one.
function shownPlot(chart: HTMLElement): DOMRect | undefined {
  const plots = [...chart.querySelectorAll(".plot")];
  return plots.map((plot) => plot.getBoundingClientRect()).find(({ width }) => width > 0);
}

function nearest(x: number[], time_s: number): number {
  const next = x.findIndex((at) => at >= time_s);
  if (next < 0) return x.length - 1;
  const [before, after] = [x[next - 1] ?? -Infinity, x[next] ?? Infinity];
  return time_s - before < after - time_s ? next - 1 : next;
}

function* values(data: ChartData, index: number): Iterable<string | HTMLElement> {
  const shown: [string, string][] = [
    ["time", formatSeconds(data.x[index] ?? 0)],
    ...data.series.map((one): [string, string] => [
      one.label,
      formatValue(one.values[index], data.unit),
    ]),
  ];
  for (const [name, text] of shown) {
    const value = document.createElement("b");
    value.textContent = text;
    yield name;
    yield value;
  }
}

for (const chart of document.querySelectorAll<HTMLElement>("[data-chart]")) {
  const json = chart.querySelector("script")?.textContent;
  if (json) follow(chart, JSON.parse(json) as ChartData);
}

for (const drawing of document.querySelectorAll<HTMLElement>("figure > div:has(.cell)")) explore(drawing);
