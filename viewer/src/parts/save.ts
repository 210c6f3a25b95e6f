// Saves the contents of a panel to a file.

import type { HeatData } from "./heat_data";
import type { LineData } from "./line_chart.vue";

export type FileKind = "png" | "csv";

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `megascope-${name}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function saveText(text: string, name: string): void {
  save(new Blob([text], { type: "text/csv" }), name);
}

/** Adds the page's background color, because the canvas is transparent. */
export function savePicture(canvas: HTMLCanvasElement, background: string, name: string): void {
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height;
  const context = copy.getContext("2d") as CanvasRenderingContext2D;
  context.fillStyle = background;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => blob && save(blob, name));
}

const quoted = (text: string): string =>
  /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** A line for each row; unknown values are empty. */
export function heatCsv({ cells, rowNames, steps }: HeatData): string {
  const { rows, columns, values, isKnown } = cells.pooled(cells.rows, cells.columns);
  const head = ["", ...Array.from({ length: columns }, (_, c) => String(steps?.[c] ?? c))];
  const lines = Array.from({ length: rows }, (_, row) => {
    const numbers = Array.from({ length: columns }, (_, c) => {
      const at = row * columns + c;
      return isKnown && !isKnown[at] ? "" : String(values[at]);
    });
    return [quoted(rowNames?.[row] ?? String(row)), ...numbers].join(",");
  });
  return `${head.join(",")}\n${lines.join("\n")}\n`;
}

/** A line for each step, a column for each line of the chart. */
export function linesCsv({ lines, data }: LineData): string {
  const head = ["step", ...lines.map(({ label }) => quoted(label))].join(",");
  const rows = Array.from(data[0], (_, i) => data.map((column) => column[i] ?? "").join(","));
  return `${head}\n${rows.join("\n")}\n`;
}
