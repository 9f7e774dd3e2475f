// Numbers as the report writes them everywhere: three significant digits and a unit. The rules are
// those of python/dbdyno/formatting.py, and one table of cases is held against both.

import type { Unit } from "./data";

const THIN_SPACE = "\u202f";
const NOTHING = "–";
// Less of any unit is rounding error, or of no concern.
const LEAST = 1e-4;

export function formatValue(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined || Number.isNaN(value)) return NOTHING;
  return unit === "ms" ? formatMs(value) : significant(value);
}

// Each unit ends where three digits round up to the next one.
function formatMs(ms: number): string {
  if (ms === 0) return "0";
  if (ms >= 999.5) return `${significant(ms / 1000)}${THIN_SPACE}s`;
  if (ms >= 0.9995) return `${significant(ms)}${THIN_SPACE}ms`;
  return `${significant(ms * 1000)}${THIN_SPACE}µs`;
}

function significant(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 99.95) return withSpaces(value.toFixed(0));
  if (size >= LEAST) return String(Number(value.toPrecision(3)));
  return value > 0 ? `<${THIN_SPACE}${LEAST}` : `>${THIN_SPACE}${-LEAST}`;
}

function withSpaces(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE);
}

export function formatSeconds(seconds: number): string {
  const sign = seconds < 0 ? "−" : "";
  const length = Math.abs(seconds);
  if (length < 120) return `${sign}${significant(length)}${THIN_SPACE}s`;
  const total = Math.round(length);
  const parts: [number, string][] = [
    [Math.floor(total / 3600), "h"],
    [Math.floor(total / 60) % 60, "min"],
    [total % 60, "s"],
  ];
  const named = parts.filter(([value]) => value > 0);
  return sign + named.map(([value, unit]) => `${value}${THIN_SPACE}${unit}`).join(" ");
}
