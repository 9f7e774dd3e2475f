// Numbers as the report writes them everywhere: three significant digits and a unit.

const THIN_SPACE = "\u202f";

export function formatValue(value: number | null | undefined, unit: "tps" | "ms"): string {
  if (value === null || value === undefined) return "–";
  return unit === "ms" ? formatMs(value) : grouped(value);
}

function formatMs(ms: number): string {
  if (ms >= 1000) return `${significant(ms / 1000)}${THIN_SPACE}s`;
  if (ms >= 1) return `${significant(ms)}${THIN_SPACE}ms`;
  return `${significant(ms * 1000)}${THIN_SPACE}µs`;
}

function significant(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

function grouped(value: number): string {
  const whole = Math.round(value).toString();
  return value < 10 && value % 1 ? String(Number(value.toPrecision(2))) : withSpaces(whole);
}

function withSpaces(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE);
}

export function formatSeconds(seconds: number): string {
  const total = Math.round(Math.abs(seconds));
  const sign = seconds < 0 ? "−" : "";
  if (total < 120) return `${sign}${total}${THIN_SPACE}s`;
  const minutes = Math.floor(total / 60);
  const rest = String(total % 60).padStart(2, "0");
  if (minutes < 60) return `${sign}${minutes}:${rest}`;
  return `${sign}${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}
