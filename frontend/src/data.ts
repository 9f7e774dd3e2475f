// What is read of a chart's data: written by python/dbdyno/report/content.py (LineChart, and TimeAxis
// for a drawing that has no values to point at).

export type Unit = "tps" | "ms" | "sessions";

export interface Stretch {
  begin_s: number;
  end_s: number;
}

export interface Mark extends Stretch {
  label: string;
}

export interface Series {
  label: string;
  values: (number | null)[];
}

export interface ChartData extends Stretch {
  x?: number[]; // the middle of what each point covers
  series?: Series[];
  marks?: Mark[];
  unit?: Unit;
}
