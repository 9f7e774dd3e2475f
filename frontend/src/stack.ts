// Areas on top of each other. The first series lies on top, so each is drawn over the one
// before it, from the ground up to the sum of itself and all that follow.

type Values = (number | null)[];

export function stack(series: Values[]): Values[] {
  const sums: Values[] = [];
  let below: Values = [];
  for (const values of [...series].reverse()) {
    below = values.map((value, index) => (value === null ? null : value + (below[index] ?? 0)));
    sums.unshift(below);
  }
  return sums;
}
