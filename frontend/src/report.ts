// Draws the charts over time of a report. All they show stands in the page already, as
// JSON beside each figure and as a table for readers; nothing is fetched.

import { drawChart } from "./chart";
import { addStyles } from "./styles";
import type { ChartData } from "./data";

function drawAll(): void {
  addStyles();
  for (const place of document.querySelectorAll<HTMLElement>("[data-chart]")) {
    const json = place.querySelector("script[type='application/json']");
    const canvas = place.querySelector<HTMLElement>(".chart-canvas");
    if (json?.textContent && canvas) {
      drawChart(canvas, JSON.parse(json.textContent) as ChartData);
    }
  }
}

drawAll();
