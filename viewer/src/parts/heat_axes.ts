import { ticks } from "../scale/format";
import type { HeatData } from "./heat_data";
import { inkNow } from "./theme";

/** Space for the axes, in CSS pixels. */
export const GUTTER = { left: 44, bottom: 18 };
const LABEL_HEIGHT = 13;
const LABEL_WIDTH = 70;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Draws row names on the left, steps below, and a mark at the user's selection. box and ratio in device pixels. */
export function drawAxes(
  context: CanvasRenderingContext2D,
  data: HeatData,
  box: Box,
  ratio: number,
): void {
  const ink = inkNow();
  context.font = `${11 * ratio}px system-ui, "DejaVu Sans", sans-serif`;
  context.fillStyle = ink.faint;
  drawRowNames(context, data, box, ratio);
  drawSteps(context, data, box, ratio);
  drawColumnNames(context, data, box, ratio);
  if (data.marked) drawMark(context, data, box, ratio);
}

function drawRowNames(
  context: CanvasRenderingContext2D,
  { cells, rowNames }: HeatData,
  box: Box,
  ratio: number,
): void {
  if (!rowNames) return;
  const rowHeight = box.height / cells.rows;
  const every = Math.max(1, Math.ceil((LABEL_HEIGHT * ratio) / rowHeight));
  context.textAlign = "right";
  context.textBaseline = "middle";
  let free = 0; // end of the previous name: the first one is moved down to be visible
  for (let row = 0; row < cells.rows; row += every) {
    const y = Math.max((row + 0.5) * rowHeight, 6 * ratio);
    if (y < free) continue;
    context.fillText(rowNames[row] ?? "", box.x - 5 * ratio, box.y + y, box.x - 6 * ratio);
    free = y + 11 * ratio;
  }
}

function drawSteps(
  context: CanvasRenderingContext2D,
  { cells, steps }: HeatData,
  box: Box,
  ratio: number,
): void {
  if (!steps || steps.length === 0) return;
  context.textAlign = "center";
  context.textBaseline = "top";
  const most = Math.max(1, Math.floor(box.width / (LABEL_WIDTH * ratio)));
  let column = 0;
  for (const step of ticks(steps[0], steps[steps.length - 1], most, 1)) {
    while (column < steps.length - 1 && steps[column] < step) column++;
    const x = box.x + ((column + 0.5) * box.width) / cells.columns;
    context.fillRect(Math.round(x), box.y + box.height, ratio, 4 * ratio);
    const half = context.measureText(String(step)).width / 2;
    context.fillText(
      String(step),
      Math.min(Math.max(x, box.x + half), box.x + box.width - half),
      box.y + box.height + 5 * ratio,
    );
  }
}

/** As many as fit, evenly spaced. */
function drawColumnNames(
  context: CanvasRenderingContext2D,
  { cells, columnNames }: HeatData,
  box: Box,
  ratio: number,
): void {
  if (!columnNames || columnNames.length === 0) return;
  const columnWidth = box.width / cells.columns;
  const most = Math.min(
    LABEL_WIDTH * ratio,
    Math.max(...columnNames.map((name) => context.measureText(name).width)),
  );
  const every = Math.max(1, Math.ceil((most + 3 * ratio) / columnWidth));
  context.textAlign = "center";
  context.textBaseline = "top";
  for (let column = 0; column < cells.columns; column += every) {
    context.fillText(
      columnNames[column] ?? "",
      box.x + (column + 0.5) * columnWidth,
      box.y + box.height + 4 * ratio,
      every * columnWidth,
    );
  }
}

function drawMark(
  context: CanvasRenderingContext2D,
  { cells, marked }: HeatData,
  box: Box,
  ratio: number,
): void {
  if (!marked) return;
  const ink = inkNow();
  const isOf = (index: number, count: number): boolean => index >= 0 && index < count;
  const along = (index: number, count: number, extent: number): [number, number] =>
    isOf(index, count)
      ? [(index * extent) / count, Math.max(2 * ratio, extent / count)]
      : [0, extent];
  if (!isOf(marked.column, cells.columns) && !isOf(marked.row, cells.rows)) return;
  const [x, width] = along(marked.column, cells.columns, box.width);
  const [y, height] = along(marked.row, cells.rows, box.height);
  for (const [lineWidth, colour] of [
    [3, ink.panel],
    [1.5, ink.text],
  ] as const) {
    context.lineWidth = lineWidth * ratio;
    context.strokeStyle = colour;
    context.strokeRect(box.x + x, box.y + y, width, height);
  }
}
