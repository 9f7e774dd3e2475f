// Finds parts of an icicle by name, and moves through it by keys. Without this script each part has
// its text as a tooltip, and the table below has all of them.

export function explore(drawing: HTMLElement): void {
  const cells = [...drawing.querySelectorAll<SVGRectElement>(".cell")];
  const find = document.createElement("p");
  const label = document.createElement("label");
  const input = document.createElement("input");
  const said = document.createElement("output");
  find.className = "find";
  input.type = "search";
  label.append("Find ", input);
  find.append(label, " ", said);
  drawing.append(find);

  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    const isWanted = (cell: Element): boolean => nameOf(cell).toLowerCase().includes(wanted);
    for (const cell of cells) cell.classList.toggle("dimmed", !isWanted(cell));
    said.textContent = wanted ? foundText(cells.filter(isWanted)) : "";
  });

  const keys = document.createElement("div");
  keys.tabIndex = 0;
  keys.role = "application";
  keys.ariaLabel = "Parts as an icicle: arrow keys move between them";
  keys.append(...drawing.querySelectorAll("svg"));
  drawing.prepend(keys);
  let current: SVGRectElement | undefined;
  keys.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    current?.classList.remove("current");
    current = current ? beside(cells, current, event.key) : cells[0];
    current?.classList.add("current");
    said.textContent = current ? titleOf(current) : "";
  });
}

function nameOf(cell: Element): string {
  return cell.getAttribute("data-name") ?? "";
}

function titleOf(cell: Element): string {
  return cell.querySelector("title")?.textContent ?? "";
}

function foundText(found: Element[]): string {
  const [first] = found;
  if (!first) return "nothing found";
  const others = found.length - 1;
  return others ? `${titleOf(first)}, and ${others} more` : titleOf(first);
}

// To the side within a row; down to the first part of this one, up to what it is a part of.
function beside(cells: SVGRectElement[], from: SVGRectElement, key: string): SVGRectElement {
  const { x, y, width, height } = from.getBBox();
  const row = (top: number): SVGRectElement[] =>
    cells.filter((cell) => Math.abs(cell.getBBox().y - top) < 1);
  const begin = (cell: SVGRectElement): number => cell.getBBox().x;
  const step = height + 1;
  switch (key) {
    case "ArrowLeft":
      return row(y).findLast((cell) => begin(cell) < x - SLACK) ?? from;
    case "ArrowRight":
      return row(y).find((cell) => begin(cell) > x + SLACK) ?? from;
    case "ArrowUp":
      return row(y - step).findLast((cell) => begin(cell) <= x + SLACK) ?? from;
    default:
      return row(y + step).find((cell) => begin(cell) >= x - SLACK && begin(cell) < x + width) ?? from;
  }
}

const SLACK = 0.2; // pixels, of rounded coordinates
