// Colours come from the page's style sheet, so that light, dark and print agree.

export function colour(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}

export function translucent(solid: string, share: number): string {
  return `color-mix(in srgb, ${solid} ${share * 100}%, transparent)`;
}

export function onThemeChange(redraw: () => void): void {
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", redraw);
  }
}
