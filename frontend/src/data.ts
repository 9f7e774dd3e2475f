// What a chart is given: written by python/dbdyno/report/content.py (LineChart).

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

export interface ChartData {
  x: number[];
  series: SeriesData[];
  height: number; // CSS pixels on a wide page
  scale: "linear" | "log";
  unit: "tps" | "ms";
  marks: MarkData[];
}
