import type { TensorFrame } from "../protocol/frame";
import { halfTable } from "../protocol/half";

/** Least, most and what is no number among elements. */
export interface Extremes {
  least: number; // of finite elements; Infinity: there is none
  most: number;
  leastMagnitude: number; // of finite elements that are not 0
  nan: number;
  infinite: number;
}

/** How a view's elements lie on the screen: rows are tokens, columns the rest. */
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

/** Of three dimensions and more the first two (sequences, positions) are rows, of two the first. */
export function layoutOf(shape: number[]): Layout {
  const split = shape.length >= 3 ? 2 : shape.length === 2 ? 1 : 0;
  const product = (extents: number[]): number => extents.reduce((a, b) => a * b, 1);
  const rowExtents = shape.slice(0, split);
  const columnExtents = shape.slice(split);
  return { rows: product(rowExtents), columns: product(columnExtents), rowExtents, columnExtents };
}

/** Indices of element `flat` in each extent. */
export function unravel(flat: number, extents: number[]): number[] {
  const indices = new Array<number>(extents.length);
  for (let d = extents.length - 1; d >= 0; d--) {
    indices[d] = flat % extents[d];
    flat = Math.floor(flat / extents[d]);
  }
  return indices;
}

/** Of elements times `scale`, which is positive; of float32 it is 1. */
export function extremesOf(elements: Uint16Array | Float32Array, scale = 1): Extremes {
  return elements instanceof Float32Array ? extremesOfFloats(elements) : extremesOfHalves(elements, scale);
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

const INFINITY = 0x7c00; // and behind it, NaN

/** By their bits, which are in the order of magnitudes among those of one sign. No branch depends on signs, which are random. */
function extremesOfHalves(elements: Uint16Array, scale: number): Extremes {
  let largestSigned = -0x8000; // of the bits as a signed integer: the largest positive number, if there is one
  let largest = 0; // of the bits: the negative number that is farthest from 0, if there is one
  let least = 0xffff; // of the bits: of those of one sign the nearest to 0
  let besideZero = 0xffff; // the least magnitude less one, which of 0 is the largest
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
  if (nan + infinite === elements.length) return { least: Infinity, most: -Infinity, leastMagnitude: Infinity, nan, infinite };
  const table = halfTable();
  const lowest = table[largest > 0x7fff ? largest : least];
  const highest = table[largestSigned >= 0 ? largestSigned : least];
  return { least: lowest * scale, most: highest * scale, leastMagnitude: table[Math.min(besideZero + 1, INFINITY)] * scale, nan, infinite };
}

export function joined(all: Iterable<Extremes>): Extremes {
  const sum: Extremes = { least: Infinity, most: -Infinity, leastMagnitude: Infinity, nan: 0, infinite: 0 };
  for (const one of all) {
    sum.least = Math.min(sum.least, one.least);
    sum.most = Math.max(sum.most, one.most);
    sum.leastMagnitude = Math.min(sum.leastMagnitude, one.leastMagnitude);
    sum.nan += one.nan;
    sum.infinite += one.infinite;
  }
  return sum;
}

/** What tells a panel's tensors apart: several of one layer may be of its pattern; one whose name is not known has no id (-1). */
export const stripKey = ({ tensor, layer }: { tensor: number; layer: number }): string => `${layer}.${tensor}`;

/** The newest view of each tensor, panel by panel. */
export class TensorViews {
  private readonly panels = new Map<string, Map<string, Strip>>();

  add(frame: TensorFrame): void {
    const strips = this.panels.get(frame.panel) ?? new Map<string, Strip>();
    this.panels.set(frame.panel, strips);
    strips.set(stripKey(frame), { frame, layout: layoutOf(frame.shape), extremes: extremesOf(frame.elements, frame.scale) });
  }
  /** By layer, ascending; those of one layer by id. */
  strips(panel: string): Strip[] {
    return [...(this.panels.get(panel)?.values() ?? [])].sort((a, b) => a.frame.layer - b.frame.layer || a.frame.tensor - b.frame.tensor);
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

/** The range of a scale that does not flicker: the held one as long as it has room for what is there, and is not far too wide. */
export function steadyRange(held: Extremes | null, now: Extremes): Extremes {
  if (!held || now.least < held.least || now.most > held.most) return now;
  return now.most - now.least < 0.6 * (held.most - held.least) ? now : held;
}
