// Makes the drawings of a page explorable. They are in the page already, and so is their data, as
// JSON beside each and as a table; nothing is fetched.

import type { ChartData } from "./data";
import { explore } from "./icicle";
import { link } from "./linked";
import { TimeChart } from "./time_chart";

function chartOf(element: HTMLElement): TimeChart[] {
  const json = element.querySelector("script")?.textContent;
  return json ? [new TimeChart(element, JSON.parse(json) as ChartData)] : [];
}

export function makeExplorable(page: ParentNode): void {
  link([...page.querySelectorAll<HTMLElement>("[data-chart]")].flatMap(chartOf));
  for (const drawing of page.querySelectorAll<HTMLElement>("figure > div:has(.cell)")) explore(drawing);
}
