// What a chart is given: written by python/dbdyno/report/content.py (LineChart).

export type Unit = "tps" | "ms" | "sessions";

export interface SeriesData {
  label: string;
  colour: string; // a custom property of the style sheet, such as "--blue"
  values: (number | null)[];
  emphasis: "line" | "thin" | "bars";
}

export interface MarkData {
  begin_s: number;
  end_s: number;
  label: string;
}

// A row above the plot for events of one kind: many of them stay legible with one name.
export interface LaneData {
  label: string;
  spans: { begin_s: number; end_s: number; strong: boolean }[];
}

export interface ChartData {
  x: number[]; // the middle of what each point covers
  begin_s: number;
  end_s: number;
  series: SeriesData[];
  height: number; // CSS pixels on a wide page
  scale: "linear" | "log";
  unit: Unit;
  stacked: boolean; // each series stands on those before it
  marks: MarkData[];
  lanes: LaneData[];
}
