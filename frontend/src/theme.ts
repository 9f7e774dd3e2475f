// Colours come from the page's style sheet, so that light, dark and print agree.

export function colour(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}

export function translucent(solid: string, share: number): string {
  return `color-mix(in srgb, ${solid} ${share * 100}%, transparent)`;
}

// A calmer shade for large areas; opaque, since they may lie on each other.
export function mixed(solid: string, ground: string): string {
  return `color-mix(in srgb, ${solid} 72%, ${ground})`;
}

export function onThemeChange(redraw: () => void): void {
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", redraw);
  }
}
