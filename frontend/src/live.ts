// Follows a run that goes on: each measurement interval comes as an event and moves the curves; the
// report so far is fetched again when the server has made a new one. The last event leads to the
// report of the whole run.

import { makeExplorable } from "./explorable";
import { formatValue } from "./format";

interface Worker {
  name: string;
  tps: number;
  p99_ms: number | null;
}

interface Interval {
  interval: number;
  phase: string;
  time_s: number;
  tps: number;
  failed_per_s: number;
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  max_ms: number | null;
  in_flight: number;
  workers: Worker[];
}

const POINTS_MAX = 240;
const WORKERS_MAX = 24;
const SVG = "http://www.w3.org/2000/svg";
const NOW_EVERY_MS = 5_000;
const SILENCE_MS = 8_000;
const ASK_EVERY_MS = 2_000;

const run = document.body.dataset["run"] ?? "";
const main = document.querySelector("main");
const said = document.querySelector("[data-said]");
const points: Interval[] = [];
const cells = new Map<string, HTMLElement>();
let asked_ms = 0;
let shown = -1;
let heard_ms = performance.now();

function show(interval: Interval): void {
  if (interval.interval <= shown) return;
  shown = interval.interval;
  points.push(interval);
  points.splice(0, points.length - POINTS_MAX);
  write("phase", { warmup: "warm-up", drain: "end" }[interval.phase] ?? "measuring");
  write("tps", formatValue(interval.tps, "tps"));
  write("failed", formatValue(interval.failed_per_s, "tps"));
  for (const name of ["p50_ms", "p95_ms", "p99_ms"] as const) write(name, formatValue(interval[name], "ms"));
  write("in_flight", String(interval.in_flight));
  draw("tps", (one) => one.tps);
  draw("p99_ms", (one) => one.p99_ms);
  showWorkers(interval);
}

// Each worker has a cell with both curves, all on one scale: one that is lost shows where its curves end.
function showWorkers(last: Interval): void {
  const place = document.querySelector("[data-workers]");
  for (const { name } of last.workers) {
    if (!place || cells.has(name) || cells.size === WORKERS_MAX) continue;
    const cell = document.createElement("div");
    cell.append(document.createElement("b"), curve("series"), curve("series late"), document.createElement("p"));
    cell.firstElementChild?.append(name);
    cell.dataset["worker"] = name;
    cells.set(name, cell);
    place.append(cell);
  }
  const all = points.flatMap((one) => one.workers);
  const most_tps = Math.max(...all.map((one) => one.tps), 1e-9);
  const most_ms = Math.max(...all.map((one) => one.p99_ms ?? 0), 1e-9);
  for (const [name, cell] of cells) {
    const own = points.map((one) => one.workers.find((worker) => worker.name === name));
    const now = own[own.length - 1];
    const [rates, times] = cell.querySelectorAll("polyline");
    rates?.setAttribute("points", line(own.map((one) => one?.tps ?? null), most_tps));
    times?.setAttribute("points", line(own.map((one) => one?.p99_ms ?? null), most_ms));
    const isLost = !now && last.phase !== "drain";
    cell.classList.toggle("lost", isLost);
    const words = cell.querySelector("p");
    if (now && words) words.textContent = `${formatValue(now.tps, "tps")} TPS, p99 ${formatValue(now.p99_ms, "ms")}`;
    if (isLost && words) words.textContent = "lost";
  }
}

function curve(style: string): SVGElement {
  const box = document.createElementNS(SVG, "svg");
  const shape = document.createElementNS(SVG, "polyline");
  shape.setAttribute("class", style);
  for (const [name, value] of [["viewBox", "0 0 100 42"], ["preserveAspectRatio", "none"], ["aria-hidden", "true"]] as const)
    box.setAttribute(name, value);
  box.append(shape);
  return box;
}

// The points of a curve that is stretched over its box; nothing where there is no value.
function line(values: readonly (number | null)[], most: number): string {
  const at = values.flatMap((value, place) => {
    const x = (place / Math.max(values.length - 1, 1)) * 100;
    return value === null ? [] : [`${x.toFixed(2)},${(40 - (value / most) * 38).toFixed(2)}`];
  });
  return at.join(" ");
}

function write(name: string, text: string): void {
  const place = document.querySelector(`[data-live="${name}"]`);
  if (place) place.textContent = text;
}

// One curve from nothing to its largest value, stretched over its box.
function draw(name: string, value: (one: Interval) => number | null): void {
  const curve = document.querySelector(`[data-curve="${name}"]`);
  const most = Math.max(...points.map((one) => value(one) ?? 0), 1e-9);
  curve?.setAttribute("points", line(points.map((one) => value(one) ?? 0), most));
}

async function part(path: string): Promise<Document | undefined> {
  const reply = await fetch(path);
  if (reply.status === 204) location.reload(); // the run has ended
  return reply.status === 200 ? new DOMParser().parseFromString(await reply.text(), "text/html") : undefined;
}

// What somebody reads, or works with, is not taken away.
function isInUse(): boolean {
  const isZoomed = document.documentElement.classList.contains("zoomed");
  return isZoomed || !!main?.querySelector("details[open]") || !!main?.contains(document.activeElement);
}

async function renew(): Promise<void> {
  const found = (await part(location.pathname))?.querySelector("main");
  if (!found || !main || isInUse()) return;
  document.querySelector("p.shown")?.remove();
  main.replaceChildren(...found.childNodes);
  makeExplorable(main);
}

async function renewNow(): Promise<void> {
  if (performance.now() < asked_ms + NOW_EVERY_MS) return;
  asked_ms = performance.now();
  const found = await part(`${location.pathname}/now`);
  const place = main?.querySelector("#now");
  if (found && place && !isInUse()) place.replaceChildren(...found.body.childNodes);
}

const events = new EventSource(`/api/v1/runs/${encodeURIComponent(run)}/events`);
events.addEventListener("interval", (event) => {
  heard_ms = performance.now();
  show(JSON.parse(event.data) as Interval);
  void renewNow();
});
events.addEventListener("findings", () => void renew());
events.addEventListener("state", () => {
  events.close();
  location.reload();
});
events.addEventListener("open", () => said?.replaceChildren("live"));
events.addEventListener("error", () => said?.replaceChildren("the server does not answer; the run goes on"));

// What is between may hold events back, as some proxies do: then the intervals are asked for.
async function ask(): Promise<void> {
  if (performance.now() < heard_ms + SILENCE_MS) return;
  const reply = await fetch(`/api/v1/runs/${encodeURIComponent(run)}/intervals?since=${shown}`);
  if (!reply.ok) return;
  for (const interval of ((await reply.json()) as { intervals: Interval[] }).intervals) show(interval);
  said?.replaceChildren("asked for every few seconds: events do not arrive");
  await renewNow();
}
setInterval(() => void ask().catch(() => undefined), ASK_EVERY_MS);

makeExplorable(document);
