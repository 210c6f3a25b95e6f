import type { Cells, Matrix } from "../draw/raster";
import type { ValueScale } from "../scale/value_scale";

/** The contents of a heatmap. */
export interface HeatData {
  cells: Cells;
  scale: ValueScale;
  describe(row: number, column: number): string;
  rowNames?: string[]; // with axes: a name for each row
  columnNames?: string[]; // with axes: a name for each column, instead of steps
  steps?: Float64Array; // with axes: the step of each column
  marked?: { row: number; column: number } | undefined; // the user's selection; -1: all rows or all columns
}

interface Range {
  least: number;
  most: number;
  leastMagnitude: number;
  isClipped: boolean; // some values exceed `most`
}

const SAMPLE = 1500; // number of values from which the usual range is determined

/** The range of the finite known times, without the few outliers (e.g. a first step) that would leave one color to all others. */
export function rangeWithoutOutliers(values: Float32Array, isKnown: Uint8Array): Range {
  const stride = Math.max(1, Math.floor(values.length / SAMPLE));
  const sample = new Float64Array(Math.ceil(values.length / stride));
  let sampled = 0;
  let untilNext = 1; // known values until the next sample
  let largest = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value - value !== 0 || !isKnown[i]) continue;
    if (value > largest) largest = value;
    if (--untilNext > 0) continue;
    sample[sampled++] = value;
    untilNext = stride;
  }
  if (sampled === 0) return { least: 0, most: 1, leastMagnitude: 1, isClipped: false };
  const sorted = sample.subarray(0, sampled).sort();
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  const least = sorted[0];
  const usual = at(0.98);
  const isClipped = largest - at(0.5) > 3 * Math.max(usual - at(0.5), at(0.5) - at(0.02), 1e-9);
  const most = isClipped ? Math.min(largest, Math.max(usual, 1.5 * at(0.5))) : largest; // noise must not look significant
  return { least, most, leastMagnitude: Math.max(Math.abs(least), 1e-9), isClipped };
}

export function rangeOf(matrix: Matrix): Range {
  let least = Infinity;
  let most = -Infinity;
  let leastMagnitude = Infinity;
  const { values, isKnown } = matrix;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value - value !== 0 || (isKnown && !isKnown[i])) continue;
    if (value < least) least = value;
    if (value > most) most = value;
    const magnitude = Math.abs(value);
    if (magnitude > 0 && magnitude < leastMagnitude) leastMagnitude = magnitude;
  }
  return { least, most, leastMagnitude, isClipped: false };
}
