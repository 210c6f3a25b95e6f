// Maps values to positions on a color scale, 0 … 1.

export type ScaleKind = "linear" | "log" | "symlog";
export const SCALE_KINDS: ScaleKind[] = ["linear", "log", "symlog"];

export interface ValueScale {
  kind: ScaleKind;
  low: number;
  high: number;
  /** The position of a value, 0 … 1 for low … high, clamped. 0 for non-positive values on a logarithmic scale. */
  place(value: number): number;
  /** The value at a position. */
  value(place: number): number;
}

interface Range {
  least: number;
  most: number;
  leastMagnitude: number;
}

function linear(low: number, high: number): ValueScale {
  const factor = high > low ? 1 / (high - low) : 0;
  const place = (value: number): number => {
    const t = (value - low) * factor;
    return t < 0 ? 0 : t > 1 ? 1 : t;
  };
  return { kind: "linear", low, high, place, value: (t) => low + t * (high - low) };
}

function logarithmic(low: number, high: number): ValueScale {
  const from = Math.log(low);
  const factor = high > low ? 1 / (Math.log(high) - from) : 0;
  const place = (value: number): number => {
    if (!(value > low)) return 0;
    const t = (Math.log(value) - from) * factor;
    return t > 1 ? 1 : t;
  };
  return {
    kind: "log",
    low,
    high,
    place,
    value: (t) => Math.exp(from + t * (Math.log(high) - from)),
  };
}

/** asinh(x / threshold): linear near 0, logarithmic for large values. */
function symmetric(low: number, high: number, threshold: number): ValueScale {
  const bend = (value: number): number => Math.asinh(value / threshold);
  const from = bend(low);
  const factor = high > low ? 1 / (bend(high) - from) : 0;
  const place = (value: number): number => {
    const t = (bend(value) - from) * factor;
    return t < 0 ? 0 : t > 1 ? 1 : t;
  };
  return {
    kind: "symlog",
    low,
    high,
    place,
    value: (t) => Math.sinh(from + t * (bend(high) - from)) * threshold,
  };
}

/** A scale for a range of finite values. isSymmetric: 0 is in the middle, for a two-color scale. */
export function scaleFor(kind: ScaleKind, range: Range, isSymmetric: boolean): ValueScale {
  const hasValues = range.least <= range.most;
  let low = hasValues ? range.least : 0;
  let high = hasValues ? range.most : 1;
  if (kind === "log") {
    const lowest = low > 0 ? low : Number.isFinite(range.leastMagnitude) ? range.leastMagnitude : 1;
    return logarithmic(Math.max(lowest, high * 1e-12), Math.max(high, lowest));
  }
  if (isSymmetric) {
    high = Math.max(Math.abs(low), Math.abs(high));
    low = -high;
  }
  if (kind === "symlog") {
    const largest = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return symmetric(low, high, largest * 1e-3);
  }
  return linear(low, high);
}
