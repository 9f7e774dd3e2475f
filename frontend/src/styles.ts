// uPlot's own style sheet travels inside the bundle, so that the report is one file.

import css from "uplot/dist/uPlot.min.css";

export function addStyles(): void {
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
}
