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

interface Server {
  name: string;
  tps: number;
  failed: number;
  connects_failed: number;
  connections_lost: number;
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
  servers: Server[];
}

// What is shown side by side, for each part of the load: a cell with a curve for each measure, and words.
interface Parts<Part> {
  kind: string;
  cells: Map<string, HTMLElement>;
  // The parts by what tells them apart: a server that is named twice is there twice.
  of: (one: Interval) => ReadonlyMap<string, Part>;
  title: (part: Part, key: string) => string;
  curves: readonly { style: string; value: (part: Part) => number | null }[];
  // About the last interval and those that are drawn: undefined where this part was missing.
  words: (now: Part, drawn: readonly (Part | undefined)[]) => string;
}

const WORKERS: Parts<Worker> = {
  kind: "worker",
  cells: new Map(),
  of: (one) => new Map(one.workers.map((worker) => [worker.name, worker])),
  title: (worker) => worker.name,
  curves: [
    { style: "series", value: (worker) => worker.tps },
    { style: "series late", value: (worker) => worker.p99_ms },
  ],
  words: (now) => `${formatValue(now.tps, "tps")} TPS, p99 ${formatValue(now.p99_ms, "ms")}`,
};

const SERVERS: Parts<Server> = {
  kind: "server",
  cells: new Map(),
  of: (one) => new Map(one.servers.map((server, number) => [String(number), server])),
  title: (server, number) => `no. ${number}: ${server.name}`,
  curves: [
    { style: "series", value: (server) => server.tps },
    { style: "series bad", value: (server) => server.failed + server.connects_failed + server.connections_lost },
  ],
  words(now, drawn) {
    const total = (count: (server: Server) => number) => drawn.reduce((sum, one) => sum + (one ? count(one) : 0), 0);
    const bad = [
      [total((one) => one.failed), "failed"],
      [total((one) => one.connects_failed), "connects failed"],
      [total((one) => one.connections_lost), "connections lost"],
    ] as const;
    const occurred = bad.filter(([count]) => count > 0).map(([count, what]) => `${formatValue(count, "tps")} ${what}`);
    return [`${formatValue(now.tps, "tps")} TPS`, ...occurred].join(", ");
  },
};

const POINTS_MAX = 240;
const CELLS_MAX = 24;
const SVG = "http://www.w3.org/2000/svg";
const NOW_EVERY_MS = 5_000;
const SILENCE_MS = 8_000;
const ASK_EVERY_MS = 2_000;

const run = document.body.dataset["run"] ?? "";
const main = document.querySelector("main");
const said = document.querySelector("[data-said]");
const points: Interval[] = [];
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
  showParts(WORKERS, interval);
  showParts(SERVERS, interval);
}

// Cells of one kind have one scale for each measure: a worker that is lost shows where its curves end. A measure that
// was nothing everywhere has no curve.
function showParts<Part>(parts: Parts<Part>, last: Interval): void {
  const { kind, cells, curves } = parts;
  const place = document.querySelector<HTMLElement>(`[data-parts="${kind}"]`);
  for (const [key, part] of parts.of(last)) {
    if (!place || cells.has(key) || cells.size === CELLS_MAX) continue;
    const cell = document.createElement("div");
    cell.append(document.createElement("b"), ...curves.map(({ style }) => curve(style)), document.createElement("p"));
    cell.firstElementChild?.append(parts.title(part, key));
    cell.dataset[kind] = key;
    cells.set(key, cell);
    place.append(cell);
    place.hidden = false;
  }
  const all = points.map(parts.of);
  for (const [number, { value }] of curves.entries()) {
    const values = all.flatMap((one) => [...one.values()].map((part) => value(part) ?? 0));
    const most = Math.max(...values, 0);
    for (const [key, cell] of cells) {
      const own = all.map((one) => one.get(key));
      const box = cell.querySelectorAll("svg")[number];
      box?.firstElementChild?.setAttribute("points", line(own.map((part) => (part ? value(part) : null)), most || 1));
      box?.classList.toggle("empty", most === 0);
    }
  }
  for (const [key, cell] of cells) {
    const own = all.map((one) => one.get(key));
    const now = own[own.length - 1];
    const isLost = !now && last.phase !== "drain";
    cell.classList.toggle("lost", isLost);
    const words = cell.querySelector("p");
    if (now && words) words.textContent = parts.words(now, own);
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
