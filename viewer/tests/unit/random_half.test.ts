import { describe, expect, it } from "vitest";
import { pooledHalf } from "../../src/draw/raster";
import { halfTable } from "../../src/protocol/half";
import { extremesOf, type Extremes } from "../../src/store/tensor_views";
import { noise } from "../mock_server/data.js";

// What is done with the bits of binary16 is compared with what is done plainly with their values.

const SPECIAL = [
  0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7e00,
  0xfe00, 0xffff,
];
const random = (
  count: number,
  seed: number,
  bitsOf: (share: number, i: number) => number,
): Uint16Array => Uint16Array.from({ length: count }, (_, i) => bitsOf(noise(i, seed), i));
const finite = (share: number): number => Math.floor(share * 0x7c00);

const KINDS: [string, (share: number, i: number) => number][] = [
  ["of all bits", (share) => Math.floor(share * 65536)],
  ["of finite ones", (share, i) => finite(share) | (noise(i, 99) < 0.5 ? 0x8000 : 0)],
  ["of positive ones", finite],
  ["of negative ones", (share) => finite(share) | 0x8000],
  [
    "of subnormal ones",
    (share) => Math.floor(share * 0x400) | ((share * 1e6) % 2 < 1 ? 0x8000 : 0),
  ],
  ["of special ones", (share) => SPECIAL[Math.floor(share * SPECIAL.length)]],
  [
    "of few special among finite ones",
    (share, i) => (i % 17 === 3 ? SPECIAL[i % SPECIAL.length] : finite(share)),
  ],
  ["of zeros", (share) => (share < 0.5 ? 0 : 0x8000)],
  ["of none that is a number", (share) => (share < 0.5 ? 0x7e00 : 0xfc00)],
];

function plainExtremes(values: number[]): Extremes {
  const numbers = values.filter(Number.isFinite);
  const magnitudes = numbers.map(Math.abs).filter((magnitude) => magnitude > 0);
  return {
    least: Math.min(...numbers),
    most: Math.max(...numbers),
    leastMagnitude: Math.min(...magnitudes),
    nan: values.filter(Number.isNaN).length,
    infinite: values.length - numbers.length - values.filter(Number.isNaN).length,
  };
}

/** NaN before all, then the largest magnitude, of equal ones the first. */
const standsOut = (cells: number[]): number =>
  cells.some(Number.isNaN)
    ? NaN
    : cells.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0);

function plainlyPooled(
  values: number[],
  [rows, columns]: number[],
  [toRows, toColumns]: number[],
): number[] {
  const shares: number[][] = Array.from({ length: toRows * toColumns }, () => []);
  values.forEach((value, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    shares[
      Math.floor((row * toRows) / rows) * toColumns + Math.floor((column * toColumns) / columns)
    ].push(value);
  });
  return shares.map(standsOut);
}
const withoutSign = (values: Iterable<number>): number[] =>
  Array.from(values, (value) => value + 0); // of zeros

describe.each(KINDS)("random elements in binary16 %s", (_, bitsOf) => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])("have the extremes that their values have, %d", (seed) => {
    for (const count of [0, 1, 2, 3, 40, 1000]) {
      const bits = random(count, seed, bitsOf);
      for (const scale of [1, 2 ** 20]) {
        const expected = plainExtremes(Array.from(bits, (one) => halfTable()[one] * scale));
        const found = extremesOf(bits, scale);
        expect({ ...found, least: found.least + 0, most: found.most + 0 }).toEqual({
          ...expected,
          least: expected.least + 0,
          most: expected.most + 0,
        });
      }
    }
  });
  it.each([
    [
      [30, 20],
      [7, 20],
    ],
    [
      [30, 20],
      [30, 7],
    ],
    [
      [30, 20],
      [11, 3],
    ],
    [
      [1, 100],
      [1, 1],
    ],
    [
      [100, 1],
      [33, 1],
    ],
    [
      [9, 9],
      [8, 8],
    ],
  ])("of %j cells in %j show what stands out", (from, to) => {
    const bits = random(from[0] * from[1], 5, bitsOf);
    const values = Array.from(bits, (one) => halfTable()[one] * 2);
    expect(withoutSign(pooledHalf(bits, 2, from[0], from[1], to[0], to[1]).values)).toEqual(
      withoutSign(plainlyPooled(values, from, to)),
    );
  });
});
