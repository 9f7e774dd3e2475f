// One chart over time: shows a part of its time, an instant with its values, and a marked stretch.
// The drawing has its curves in a box that is stretched over the plot (class "stretched"): a part of
// the time is a part of that box, and only ticks and the names of marks are written anew.

import type { ChartData, Stretch } from "./data";
import { formatSeconds, formatValue } from "./format";

const SVG = "http://www.w3.org/2000/svg";
const CHARACTER = 6.4; // width of a character, as in python/dbdyno/report/charts/plot.py

export class TimeChart {
  readonly x: number[];
  private shown: Stretch;
  private readonly cursor = document.createElement("div");
  private readonly selected = document.createElement("div");
  private readonly readout = document.createElement("p");

  constructor(
    readonly element: HTMLElement,
    readonly data: ChartData,
  ) {
    this.x = data.x ?? [];
    this.shown = data;
    this.cursor.className = "cursor";
    this.selected.className = "selected";
    this.readout.className = "readout";
    element.append(this.cursor, this.selected);
    if (this.x.length) element.append(this.readout);
    element.classList.add("following");
    this.point(undefined);
    this.select(undefined);
  }

  show(shown: Stretch | undefined): void {
    this.shown = shown ?? this.data;
    const { begin_s, end_s } = this.data;
    for (const box of this.element.querySelectorAll<SVGElement>(".stretched")) {
      const [, , , height] = (box.getAttribute("viewBox") ?? "").split(" ");
      box.dataset["width"] ??= (box.getAttribute("viewBox") ?? "").split(" ")[2];
      const scale = Number(box.dataset["width"]) / (end_s - begin_s);
      const [begin, length] = [this.shown.begin_s - begin_s, this.shown.end_s - this.shown.begin_s];
      box.setAttribute("viewBox", `${begin * scale} 0 ${length * scale} ${height}`);
      // In the style of the box itself: rules about its ancestors do not count where it is reused.
      box.style.overflow = this.shown.begin_s > begin_s || this.shown.end_s < end_s ? "hidden" : "";
    }
    for (const plot of this.element.querySelectorAll<SVGRectElement>(".plot")) this.label(plot);
    this.point(undefined);
  }

  mark(marked: Stretch | undefined): void {
    for (const old of this.element.querySelectorAll(".marked")) old.remove();
    if (!marked) return;
    const { begin_s, end_s } = this.data;
    for (const box of this.element.querySelectorAll<SVGElement>(".stretched:not([id$=events])")) {
      const [, , width, height] = (box.getAttribute("viewBox") ?? "").split(" ").map(Number);
      const scale = Number(box.dataset["width"] ?? width) / (end_s - begin_s);
      const [begin, end] = [marked.begin_s, marked.end_s].map((at) => (at - begin_s) * scale);
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", "marked");
      path.setAttribute("d", `M${begin} 0V${height}H${end}V0z`);
      box.append(path);
    }
  }

  // The cursor at the point nearest to an instant, and the values there.
  point(time_s: number | undefined): void {
    const plot = this.plot();
    const index = time_s === undefined ? -1 : nearest(this.x, time_s);
    const at_s = this.x[index] ?? time_s;
    const isShown = plot && at_s !== undefined && at_s >= this.shown.begin_s && at_s <= this.shown.end_s;
    this.cursor.hidden = !isShown;
    this.readout.replaceChildren(...(isShown ? values(this.data, index) : []));
    if (isShown) this.place(this.cursor, plot, this.left(plot, at_s), 1);
  }

  select(stretch: Stretch | undefined): void {
    const plot = this.plot();
    this.selected.hidden = !(stretch && plot);
    if (!stretch || !plot) return;
    const [from, to] = [this.left(plot, stretch.begin_s), this.left(plot, stretch.end_s)];
    this.place(this.selected, plot, from, to - from);
  }

  // The instant below the pointer; outside of the plot, that of its nearer end, or none.
  instant(clientX: number, isClamped = false): number | undefined {
    const plot = this.plot();
    if (!plot) return undefined;
    const share = (clientX - plot.left) / plot.width;
    if (!isClamped && (share < 0 || share > 1)) return undefined;
    const within = Math.min(Math.max(share, 0), 1);
    return this.shown.begin_s + within * (this.shown.end_s - this.shown.begin_s);
  }

  // The page has a drawing for each of three widths, and shows one.
  private plot(): DOMRect | undefined {
    const plots = [...this.element.querySelectorAll(".plot")];
    return plots.map((plot) => plot.getBoundingClientRect()).find(({ width }) => width > 0);
  }

  private left(plot: DOMRect, time_s: number): number {
    const { begin_s, end_s } = this.shown;
    return plot.left + ((time_s - begin_s) / (end_s - begin_s)) * plot.width;
  }

  private place(what: HTMLElement, plot: DOMRect, from: number, width: number): void {
    const { left, top } = this.element.getBoundingClientRect();
    what.style.cssText = `left:${from - left}px;top:${plot.top - top}px;width:${width}px;height:${plot.height}px`;
  }

  private label(plot: SVGRectElement): void {
    const drawing = plot.ownerSVGElement;
    if (!drawing) return;
    const [left, width] = ["x", "width"].map((name) => Number(plot.getAttribute(name))) as [number, number];
    const { begin_s, end_s } = this.shown;
    const across = (time_s: number): number => left + ((time_s - begin_s) / (end_s - begin_s)) * width;
    const old = [...drawing.querySelectorAll<SVGTextElement>(".tick")];
    const y = Number(old[0]?.getAttribute("y"));
    for (const text of old) text.remove();
    for (const tick of ticks(this.shown, width < 400 ? 3 : 8))
      write(drawing, across(tick), y, formatSeconds(tick), "middle", "label tick");
    for (const text of drawing.querySelectorAll(".mark")) text.remove();
    let taken = -Infinity;
    for (const mark of this.data.marks ?? []) {
      const length = mark.label.length * CHARACTER;
      const begin = Math.min(Math.max(across(mark.begin_s), left), left + width - length);
      if (begin < taken || mark.end_s <= begin_s || mark.begin_s >= end_s) continue;
      write(drawing, begin, Number(plot.getAttribute("y")) - 5, mark.label, "start", "label mark");
      taken = begin + length + 8;
    }
  }
}

function write(drawing: SVGElement, x: number, y: number, text: string, anchor: string, style: string): void {
  const written = document.createElementNS(SVG, "text");
  const attributes = { x: x.toFixed(1), y: String(y), "text-anchor": anchor, class: style };
  for (const [name, value] of Object.entries(attributes)) written.setAttribute(name, value);
  written.textContent = text;
  drawing.append(written);
}

export function nearest(x: number[], time_s: number): number {
  const next = x.findIndex((at) => at >= time_s);
  if (next < 0) return x.length - 1;
  const [before, after] = [x[next - 1] ?? -Infinity, x[next] ?? Infinity];
  return time_s - before < after - time_s ? next - 1 : next;
}

// Round instants: 1, 2 or 5 times a power of ten, and whole minutes and hours.
function ticks({ begin_s, end_s }: Stretch, wanted: number): number[] {
  const least = (end_s - begin_s) / wanted;
  const power = 10 ** Math.floor(Math.log10(least));
  const decimal = [1, 2, 5, 10].map((step) => step * power).find((step) => step >= least) ?? least;
  const step = least <= 20 ? decimal : (LONG_STEPS_S.find((one) => one >= least) ?? 86_400);
  const first = Math.ceil(begin_s / step);
  const count = Math.floor(end_s / step) - first + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, number) => (first + number) * step);
}

const LONG_STEPS_S = [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400];

function* values({ x, series, unit }: ChartData, index: number): Iterable<string | HTMLElement> {
  if (!x || !series || !unit) return;
  const shown: [string, string][] = [
    ["time", formatSeconds(x[index] ?? 0)],
    ...series.map((one): [string, string] => [one.label, formatValue(one.values[index], unit)]),
  ];
  for (const [name, text] of shown) {
    const value = document.createElement("b");
    value.textContent = text;
    yield name;
    yield value;
  }
}
