// Numbers as the report writes them everywhere: three significant digits and a unit.

import type { Unit } from "./data";

const THIN_SPACE = "\u202f";

export function formatValue(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined) return "–";
  if (unit === "sessions") return significant(value);
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
