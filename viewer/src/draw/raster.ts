import { INFINITE_PIXEL, LEVELS, NAN_PIXEL, NOTHING_PIXEL } from "../scale/colours";
import { halfTable } from "../protocol/half";
import type { ValueScale } from "../scale/value_scale";

/** A matrix of numbers, row-major. isKnown: 0 for cells without a value; absent: all cells have one. */
export interface Matrix {
  rows: number;
  columns: number;
  values: Float32Array;
  isKnown?: Uint8Array | undefined;
}

/** For each of `from` indices, the index of `to` that represents it. */
function shares(from: number, to: number): Uint32Array {
  const result = new Uint32Array(from);
  for (let i = 0; i < from; i++) result[i] = Math.floor((i * to) / from);
  return result;
}

/**
 * Reduces a matrix to at most maxRows × maxColumns cells. A cell that represents several becomes NaN if one is NaN, else infinite if one is
 * infinite, else the value of largest magnitude, so that outliers stay visible.
 */
export function pooled(matrix: Matrix, maxRows: number, maxColumns: number): Matrix {
  const rows = Math.min(matrix.rows, Math.max(1, maxRows));
  const columns = Math.min(matrix.columns, Math.max(1, maxColumns));
  if (rows === matrix.rows && columns === matrix.columns) return matrix;
  const values = new Float32Array(rows * columns);
  const magnitudes = new Float32Array(rows * columns).fill(-1); // -1: no value
  const columnOf = shares(matrix.columns, columns);
  const { values: source, isKnown } = matrix;
  for (let r = 0, i = 0; r < matrix.rows; r++) {
    const target = Math.floor((r * rows) / matrix.rows) * columns;
    for (let c = 0; c < matrix.columns; c++, i++) {
      if (isKnown && !isKnown[i]) continue;
      const cell = target + columnOf[c];
      const value = source[i];
      const magnitude = value < 0 ? -value : value;
      if (magnitude > magnitudes[cell]) {
        magnitudes[cell] = magnitude;
        values[cell] = value;
      } else if (value !== value) {
        magnitudes[cell] = NaN; // nothing is larger
        values[cell] = NaN;
      }
    }
  }
  const isPooledKnown = new Uint8Array(rows * columns);
  for (let i = 0; i < magnitudes.length; i++) isPooledKnown[i] = magnitudes[i] < 0 ? 0 : 1;
  return { rows, columns, values, isKnown: isPooledKnown };
}

/** The same for binary16 elements times `scale`. The bits without sign are ordered by magnitude, with NaN after infinity. */
export function pooledHalf(
  bits: Uint16Array,
  scale: number,
  rows: number,
  columns: number,
  maxRows: number,
  maxColumns: number,
): Matrix {
  const toRows = Math.min(rows, Math.max(1, maxRows));
  const toColumns = Math.min(columns, Math.max(1, maxColumns));
  const most =
    toRows === rows && toColumns === columns ? bits : new Uint16Array(toRows * toColumns);
  const columnOf = shares(columns, toColumns);
  for (let r = 0, i = 0; r < rows && most !== bits; r++) {
    const target = Math.floor((r * toRows) / rows) * toColumns;
    for (let c = 0; c < columns; c++, i++) {
      const cell = target + columnOf[c];
      if ((bits[i] & 0x7fff) > (most[cell] & 0x7fff)) most[cell] = bits[i];
    }
  }
  const table = halfTable();
  const values = new Float32Array(most.length);
  for (let i = 0; i < most.length; i++) values[i] = table[most[i]] * scale;
  return { rows: toRows, columns: toColumns, values };
}

/** Colors of a matrix, one pixel for each cell. */
export function paint(
  matrix: Matrix,
  scale: ValueScale,
  table: Uint32Array,
  pixels: Uint32Array,
): void {
  const { values, isKnown } = matrix;
  const cells = matrix.rows * matrix.columns;
  for (let i = 0; i < cells; i++) {
    const value = values[i];
    if (isKnown && !isKnown[i]) pixels[i] = NOTHING_PIXEL;
    else if (value - value === 0) pixels[i] = table[(scale.place(value) * (LEVELS - 1) + 0.5) | 0];
    else pixels[i] = value === value ? INFINITE_PIXEL : NAN_PIXEL;
  }
}

const scratch = typeof document === "undefined" ? undefined : document.createElement("canvas");

/** The contents of a heatmap: its size, and its values reduced to at most this many cells. */
export interface Cells {
  rows: number;
  columns: number;
  pooled(maxRows: number, maxColumns: number): Matrix;
}

export const cellsOf = (matrix: Matrix): Cells => ({
  rows: matrix.rows,
  columns: matrix.columns,
  pooled: (maxRows, maxColumns) => pooled(matrix, maxRows, maxColumns),
});

/** Draws cells into a rectangle of the canvas (device pixels), without smoothing. */
export function drawCells(
  context: CanvasRenderingContext2D,
  source: Cells,
  scale: ValueScale,
  table: Uint32Array,
  box: { x: number; y: number; width: number; height: number },
): void {
  const shown = source.pooled(box.height, box.width);
  if (!scratch || shown.rows === 0 || shown.columns === 0) return;
  if (scratch.width < shown.columns) scratch.width = shown.columns;
  if (scratch.height < shown.rows) scratch.height = shown.rows;
  const image = new ImageData(shown.columns, shown.rows);
  paint(shown, scale, table, new Uint32Array(image.data.buffer));
  const pixels = scratch.getContext("2d", { willReadFrequently: true }) as CanvasRenderingContext2D;
  pixels.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(scratch, 0, 0, shown.columns, shown.rows, box.x, box.y, box.width, box.height);
}
