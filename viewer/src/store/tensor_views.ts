import type { TensorFrame } from "../protocol/frame";
import { halfTable } from "../protocol/half";

/** Minimum, maximum and non-finite elements. */
export interface Extremes {
  least: number; // of finite elements; Infinity: there is none
  most: number;
  leastMagnitude: number; // of finite non-zero elements
  nan: number;
  infinite: number;
}

/** Layout of a view on the screen: rows are tokens, columns the rest. */
export interface Layout {
  rows: number;
  columns: number;
  rowExtents: number[];
  columnExtents: number[];
}

export interface Strip {
  frame: TensorFrame;
  layout: Layout;
  extremes: Extremes;
}

/** With three or more dimensions the first two (sequences, positions) are rows; with two the first. */
export function layoutOf(shape: number[]): Layout {
  const split = shape.length >= 3 ? 2 : shape.length === 2 ? 1 : 0;
  const product = (extents: number[]): number => extents.reduce((a, b) => a * b, 1);
  const rowExtents = shape.slice(0, split);
  const columnExtents = shape.slice(split);
  return { rows: product(rowExtents), columns: product(columnExtents), rowExtents, columnExtents };
}

/** Indices of element `flat` in each dimension. */
export function unravel(flat: number, extents: number[]): number[] {
  const indices = new Array<number>(extents.length);
  for (let d = extents.length - 1; d >= 0; d--) {
    indices[d] = flat % extents[d];
    flat = Math.floor(flat / extents[d]);
  }
  return indices;
}

/** Of elements times `scale` > 0; 1 for float32. */
export function extremesOf(elements: Uint16Array | Float32Array, scale = 1): Extremes {
  return elements instanceof Float32Array
    ? extremesOfFloats(elements)
    : extremesOfHalves(elements, scale);
}

function extremesOfFloats(elements: Float32Array): Extremes {
  let [least, most, leastMagnitude, nan, infinite] = [Infinity, -Infinity, Infinity, 0, 0];
  for (let i = 0; i < elements.length; i++) {
    const value = elements[i];
    if (value - value !== 0) {
      if (Number.isNaN(value)) nan++;
      else infinite++;
      continue;
    }
    if (value < least) least = value;
    if (value > most) most = value;
    const magnitude = value < 0 ? -value : value;
    if (magnitude < leastMagnitude && magnitude > 0) leastMagnitude = magnitude;
  }
  return { least, most, leastMagnitude, nan, infinite };
}

const INFINITY = 0x7c00; // larger bit patterns are NaN

/** Uses the bit patterns, which are ordered by magnitude for each sign. No branch depends on signs, which are unpredictable. */
function extremesOfHalves(elements: Uint16Array, scale: number): Extremes {
  let largestSigned = -0x8000; // of the bits as a signed integer: the largest positive number, if there is one
  let largest = 0; // of the bits: the negative number of largest magnitude, if there is one
  let least = 0xffff; // of the bits: the number of smallest magnitude of one sign
  let besideZero = 0xffff; // the smallest magnitude minus one; for 0 this is the maximum
  let [nan, infinite] = [0, 0];
  for (let i = 0; i < elements.length; i++) {
    const bits = elements[i];
    const magnitude = bits & 0x7fff;
    if (magnitude >= INFINITY) {
      if (magnitude > INFINITY) nan++;
      else infinite++;
      continue;
    }
    const signed = (bits << 16) >> 16;
    const lessOne = (magnitude - 1) & 0xffff;
    if (signed > largestSigned) largestSigned = signed;
    if (bits > largest) largest = bits;
    if (bits < least) least = bits;
    if (lessOne < besideZero) besideZero = lessOne;
  }
  if (nan + infinite === elements.length)
    return { least: Infinity, most: -Infinity, leastMagnitude: Infinity, nan, infinite };
  const table = halfTable();
  const lowest = table[largest > 0x7fff ? largest : least];
  const highest = table[largestSigned >= 0 ? largestSigned : least];
  return {
    least: lowest * scale,
    most: highest * scale,
    leastMagnitude: table[Math.min(besideZero + 1, INFINITY)] * scale,
    nan,
    infinite,
  };
}

export function joined(all: Iterable<Extremes>): Extremes {
  const sum: Extremes = {
    least: Infinity,
    most: -Infinity,
    leastMagnitude: Infinity,
    nan: 0,
    infinite: 0,
  };
  for (const one of all) {
    sum.least = Math.min(sum.least, one.least);
    sum.most = Math.max(sum.most, one.most);
    sum.leastMagnitude = Math.min(sum.leastMagnitude, one.leastMagnitude);
    sum.nan += one.nan;
    sum.infinite += one.infinite;
  }
  return sum;
}

/** Distinguishes tensors of a panel: several of one layer may match. -1: id of a tensor without a known name. */
export const stripKey = ({ tensor, layer }: { tensor: number; layer: number }): string =>
  `${layer}.${tensor}`;

/** The newest view of each tensor, for each panel. */
export class TensorViews {
  private readonly panels = new Map<string, Map<string, Strip>>();

  add(frame: TensorFrame): void {
    const strips = this.panels.get(frame.panel) ?? new Map<string, Strip>();
    this.panels.set(frame.panel, strips);
    strips.set(stripKey(frame), {
      frame,
      layout: layoutOf(frame.shape),
      extremes: extremesOf(frame.elements, frame.scale),
    });
  }
  /** By ascending layer, then by id. */
  strips(panel: string): Strip[] {
    return [...(this.panels.get(panel)?.values() ?? [])].sort(
      (a, b) => a.frame.layer - b.frame.layer || a.frame.tensor - b.frame.tensor,
    );
  }
  strip(panel: string, key: string): Strip | undefined {
    return this.panels.get(panel)?.get(key);
  }
  clear(panel: string): void {
    this.panels.delete(panel);
  }
  clearAll(): void {
    this.panels.clear();
  }
}

/** A range for a stable color scale: keeps `held` as long as it covers the data and is not far too wide. */
export function steadyRange(held: Extremes | null, now: Extremes): Extremes {
  if (!held || now.least < held.least || now.most > held.most) return now;
  return now.most - now.least < 0.6 * (held.most - held.least) ? now : held;
}
