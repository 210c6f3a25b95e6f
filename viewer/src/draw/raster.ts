import { INFINITE_PIXEL, LEVELS, NAN_PIXEL, NOTHING_PIXEL } from "../scale/colours";
import type { ValueScale } from "../scale/value_scale";

/** Numbers in rows and columns, row by row. isKnown: 0 where there is nothing to show; without it all is. */
export interface Matrix {
  rows: number;
  columns: number;
  values: Float32Array;
  isKnown?: Uint8Array | undefined;
}

const magnitudeOf = (value: number): number => (value < 0 ? -value : value);

/**
 * The matrix with at most maxRows × maxColumns cells. A cell that stands for several is NaN if one is, else infinite if one is, else the
 * one of largest magnitude: what stands out is not averaged away.
 */
export function pooled(matrix: Matrix, maxRows: number, maxColumns: number): Matrix {
  const rows = Math.min(matrix.rows, Math.max(1, maxRows));
  const columns = Math.min(matrix.columns, Math.max(1, maxColumns));
  if (rows === matrix.rows && columns === matrix.columns) return matrix;
  const values = new Float32Array(rows * columns);
  const isKnown = new Uint8Array(rows * columns);
  const columnOf = Uint32Array.from({ length: matrix.columns }, (_, c) => Math.floor((c * columns) / matrix.columns));
  for (let r = 0; r < matrix.rows; r++) {
    const target = Math.floor((r * rows) / matrix.rows) * columns;
    const source = r * matrix.columns;
    for (let c = 0; c < matrix.columns; c++) {
      if (matrix.isKnown && !matrix.isKnown[source + c]) continue;
      const cell = target + columnOf[c];
      const value = matrix.values[source + c];
      if (!isKnown[cell]) {
        isKnown[cell] = 1;
        values[cell] = value;
      } else if (value !== value || magnitudeOf(value) > magnitudeOf(values[cell])) {
        values[cell] = value; // what is NaN already stays so: nothing is larger
      }
    }
  }
  return { rows, columns, values, isKnown };
}

/** Colours of a matrix, one pixel a cell. */
export function paint(matrix: Matrix, scale: ValueScale, table: Uint32Array, pixels: Uint32Array): void {
  const { values, isKnown } = matrix;
  const cells = matrix.rows * matrix.columns;
  for (let i = 0; i < cells; i++) {
    const value = values[i];
    if (isKnown && !isKnown[i]) pixels[i] = NOTHING_PIXEL;
    else if (value - value === 0) pixels[i] = table[(scale.place(value) * (LEVELS - 1) + 0.5) | 0];
    else pixels[i] = value === value ? INFINITE_PIXEL : NAN_PIXEL;
  }
}

const cells = typeof document === "undefined" ? undefined : document.createElement("canvas");

/** Draws the matrix into a rectangle of the canvas (device pixels), cells with sharp edges. */
export function drawMatrix(
  context: CanvasRenderingContext2D,
  matrix: Matrix,
  scale: ValueScale,
  table: Uint32Array,
  box: { x: number; y: number; width: number; height: number },
): void {
  const shown = pooled(matrix, box.height, box.width);
  if (!cells || shown.rows === 0 || shown.columns === 0) return;
  if (cells.width < shown.columns) cells.width = shown.columns;
  if (cells.height < shown.rows) cells.height = shown.rows;
  const image = new ImageData(shown.columns, shown.rows);
  paint(shown, scale, table, new Uint32Array(image.data.buffer));
  const source = cells.getContext("2d", { willReadFrequently: true }) as CanvasRenderingContext2D;
  source.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(cells, 0, 0, shown.columns, shown.rows, box.x, box.y, box.width, box.height);
}
