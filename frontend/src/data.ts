// What is read of a chart's data: written by python/dbdyno/report/content.py (LineChart).

export type Unit = "tps" | "ms" | "sessions";

export interface ChartData {
  x: number[]; // the middle of what each point covers
  begin_s: number;
  end_s: number;
  series: { label: string; values: (number | null)[] }[];
  unit: Unit;
}
