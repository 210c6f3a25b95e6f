import type { Cells, Matrix } from "../draw/raster";
import type { ValueScale } from "../scale/value_scale";

/** What a heatmap shows. */
export interface HeatData {
  cells: Cells;
  scale: ValueScale;
  describe(row: number, column: number): string;
  rowNames?: string[]; // with axes: a name a row
  columnNames?: string[]; // with axes: a name a column, in place of steps
  steps?: Float64Array; // with axes: the step of each column
  marked?: { row: number; column: number } | undefined; // what the reader chose; -1: all of the other
}

interface Range {
  least: number;
  most: number;
  leastMagnitude: number;
  isClipped: boolean; // some values are larger than `most`
}

const SAMPLE = 1500; // values that the usual range is taken from

/** The range of finite times that are known without the few that would leave one colour to all others (a first step, say). */
export function rangeWithoutOutliers(values: Float32Array, isKnown: Uint8Array): Range {
  const stride = Math.max(1, Math.floor(values.length / SAMPLE));
  const sample = new Float64Array(Math.ceil(values.length / stride));
  let sampled = 0;
  let untilNext = 1; // values that are known, until one goes into the sample
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
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  const least = sorted[0];
  const usual = at(0.98);
  const isClipped = largest - at(0.5) > 3 * Math.max(usual - at(0.5), at(0.5) - at(0.02), 1e-9);
  const most = isClipped ? Math.min(largest, Math.max(usual, 1.5 * at(0.5))) : largest; // noise is not to look like a finding
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
