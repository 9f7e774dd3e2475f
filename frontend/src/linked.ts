// Links the charts over time: what one shows, all show. A part of the time is chosen by dragging
// across a chart, by keys, or by following a finding to its place in time.

import type { Stretch } from "./data";
import { formatSeconds } from "./format";
import { nearest, type TimeChart } from "./time_chart";

const DRAG_MIN = 6; // pixels: less is a click
const SHARE_MIN = 1 / 400; // of the run: fewer than a few points show nothing
const MARGIN = 0.5; // of a place's length, on both sides of it

export function link(charts: TimeChart[]): void {
  const [first] = charts;
  if (!first) return;
  const whole: Stretch = first.data;
  let shown = whole;
  let pointed_s: number | undefined;

  const bar = document.createElement("p");
  const said = document.createElement("span");
  const reset = document.createElement("button");
  bar.className = "shown";
  bar.hidden = true;
  said.role = "status";
  reset.type = "button";
  reset.textContent = "Whole run";
  reset.addEventListener("click", () => show(whole));
  bar.append(said, reset);
  document.body.append(bar);

  const show = (wanted: Stretch): void => {
    shown = within(wanted, whole);
    const isPart = shown.end_s - shown.begin_s < whole.end_s - whole.begin_s;
    for (const chart of charts) chart.show(shown);
    bar.hidden = !isPart;
    said.textContent = `Charts show ${formatSeconds(shown.begin_s)} to ${formatSeconds(shown.end_s)}`;
    if (!isPart) mark(undefined);
  };
  const mark = (place: Stretch | undefined): void => {
    for (const chart of charts) chart.mark(place);
  };
  const point = (time_s: number | undefined, at?: TimeChart): void => {
    pointed_s = time_s;
    for (const chart of charts) {
      chart.element.classList.toggle("pointed", chart === at);
      chart.point(time_s);
    }
  };

  for (const chart of charts) {
    followPointer(chart, point, show, () => show(whole));
    followKeys(chart, (key) => {
      const time_s = pointed_s ?? (shown.begin_s + shown.end_s) / 2;
      const length_s = shown.end_s - shown.begin_s;
      const zoomed = (factor: number): Stretch => ({
        begin_s: time_s - (time_s - shown.begin_s) * factor,
        end_s: time_s + (shown.end_s - time_s) * factor,
      });
      const moved = (steps: number): void => {
        const { x } = chart.x.length ? chart : first;
        const next_s = x[Math.min(Math.max(nearest(x, time_s) + steps, 0), x.length - 1)] ?? time_s;
        const by_s = Math.min(next_s - shown.begin_s, 0) || Math.max(next_s - shown.end_s, 0);
        if (by_s) show({ begin_s: shown.begin_s + by_s, end_s: shown.begin_s + by_s + length_s });
        point(next_s, chart);
      };
      switch (key) {
        case "ArrowLeft":
          return moved(-1);
        case "ArrowRight":
          return moved(1);
        case "PageUp":
          return moved(-10);
        case "PageDown":
          return moved(10);
        case "+":
        case "=":
          show(zoomed(0.5));
          return point(time_s, chart);
        case "-":
          show(zoomed(2));
          return point(time_s, chart);
        default:
          return show(whole);
      }
    });
  }
  explain(first);
  for (const one of document.querySelectorAll<HTMLElement>("a[data-begin]"))
    one.addEventListener("click", () => {
      const [begin_s, end_s] = [Number(one.dataset["begin"]), Number(one.dataset["end"])];
      const margin_s = Math.max((end_s - begin_s) * MARGIN, (whole.end_s - whole.begin_s) / 20);
      show({ begin_s: begin_s - margin_s, end_s: end_s + margin_s });
      mark({ begin_s, end_s });
    });
}

const KEYS = ["ArrowLeft", "ArrowRight", "PageUp", "PageDown", "+", "=", "-", "Escape"];

function followKeys(chart: TimeChart, act: (key: string) => void): void {
  chart.element.tabIndex = 0;
  chart.element.role = "application";
  chart.element.ariaLabel =
    "Chart over time: left and right move along it, plus and minus zoom all charts, Escape shows the whole run";
  chart.element.addEventListener("keydown", (event) => {
    if (!KEYS.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event.key);
  });
}

function followPointer(
  chart: TimeChart,
  point: (time_s: number | undefined, at: TimeChart) => void,
  show: (wanted: Stretch) => void,
  reset: () => void,
): void {
  const { element } = chart;
  let began: { clientX: number; time_s: number } | undefined;
  const dragged = (event: PointerEvent): Stretch | undefined => {
    if (!began || Math.abs(event.clientX - began.clientX) < DRAG_MIN) return undefined;
    const time_s = chart.instant(event.clientX, true) ?? began.time_s;
    return { begin_s: Math.min(began.time_s, time_s), end_s: Math.max(began.time_s, time_s) };
  };
  element.addEventListener("pointerdown", (event) => {
    const time_s = event.button === 0 ? chart.instant(event.clientX) : undefined;
    began = time_s === undefined ? undefined : { clientX: event.clientX, time_s };
    if (began) element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    point(chart.instant(event.clientX), chart);
    chart.select(dragged(event));
  });
  element.addEventListener("pointerup", (event) => {
    const stretch = dragged(event);
    began = undefined;
    chart.select(undefined);
    if (stretch) show(stretch);
  });
  element.addEventListener("pointercancel", () => {
    began = undefined;
    chart.select(undefined);
  });
  element.addEventListener("pointerleave", () => point(undefined, chart));
  element.addEventListener("dblclick", reset);
}

// At least a few points, and nothing outside of the run.
function within(wanted: Stretch, whole: Stretch): Stretch {
  const run_s = whole.end_s - whole.begin_s;
  const length_s = Math.min(Math.max(wanted.end_s - wanted.begin_s, run_s * SHARE_MIN), run_s);
  const middle_s = (wanted.begin_s + wanted.end_s) / 2;
  const begin_s = Math.min(Math.max(middle_s - length_s / 2, whole.begin_s), whole.end_s - length_s);
  return { begin_s, end_s: begin_s + length_s };
}

function explain({ element }: TimeChart): void {
  const keys = document.createElement("p");
  keys.className = "keys";
  keys.textContent =
    "Drag across a chart: all show that time; a double click shows the whole run. Keys: ← → + − Esc.";
  element.closest("figure")?.before(keys);
}
