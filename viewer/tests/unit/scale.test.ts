import { describe, expect, it } from "vitest";
import { paint, pooled, pooledHalf, type Matrix } from "../../src/draw/raster";
import { rangeOf, rangeWithoutOutliers } from "../../src/parts/heat_data";
import {
  INFINITE_PIXEL,
  LEVELS,
  NAN_PIXEL,
  NOTHING_PIXEL,
  PALETTES,
  tableOf,
} from "../../src/scale/colours";
import {
  bytes,
  counted,
  duration,
  elapsed,
  noNumbers,
  share,
  short,
  ticks,
  time,
} from "../../src/scale/format";
import { halfTable } from "../../src/protocol/half";
import { scaleFor } from "../../src/scale/value_scale";
import { halfBits } from "../mock_server/encode.js";

const range = (least: number, most: number, leastMagnitude = 1) => ({
  least,
  most,
  leastMagnitude,
});
const matrix = (rows: number, columns: number, values: number[], isKnown?: number[]): Matrix => ({
  rows,
  columns,
  values: Float32Array.from(values),
  isKnown: isKnown && Uint8Array.from(isKnown),
});

describe("a scale", () => {
  it("that is linear is clamped at its ends", () => {
    const scale = scaleFor("linear", range(10, 20), false);
    expect([5, 10, 15, 20, 25].map((value) => scale.place(value))).toEqual([0, 0, 0.5, 1, 1]);
    expect(scale.value(0.25)).toBe(12.5);
  });
  it("that is logarithmic takes equal ratios equally far; what is not positive is at its lower end", () => {
    const scale = scaleFor("log", range(-1, 100, 0.01), false);
    expect(scale.low).toBe(0.01);
    expect(scale.place(1)).toBeCloseTo(0.5, 12);
    expect(scale.place(-5)).toBe(0);
    expect(scale.value(0.75)).toBeCloseTo(10, 9);
  });
  it("that is symmetric and logarithmic has 0 in the middle of a symmetric range, and is odd", () => {
    const scale = scaleFor("symlog", range(-8, 8), false);
    expect(scale.place(0)).toBeCloseTo(0.5, 12);
    expect(scale.place(0.5) + scale.place(-0.5)).toBeCloseTo(1, 12);
    expect(scale.place(0.08)).toBeCloseTo(0.6972, 4); // asinh(10) / asinh(1000) of the upper half
    expect(scale.value(scale.place(3))).toBeCloseTo(3, 9);
  });
  it("of two colours has 0 in its middle", () => {
    const scale = scaleFor("linear", range(-1, 3), true);
    expect([scale.low, scale.high, scale.place(0)]).toEqual([-3, 3, 0.5]);
  });
  it.each(["linear", "log", "symlog"] as const)(
    "%s of one value, of zeros, of nothing gives places",
    (kind) => {
      for (const [least, most, magnitude] of [
        [4, 4, 4],
        [0, 0, Infinity],
        [Infinity, -Infinity, Infinity],
      ]) {
        const scale = scaleFor(kind, range(least, most, magnitude), false);
        for (const value of [-1, 0, 1, 4])
          expect(scale.place(value)).toSatisfy((t: number) => t >= 0 && t <= 1);
      }
    },
  );
});

const allKnown = (count: number): Uint8Array => new Uint8Array(count).fill(1);

describe("ranges", () => {
  it("of times are of those that are known, however few", () => {
    const values = Float32Array.from({ length: 6000 }, (_, i) =>
      i % 100 === 99 ? 40 + (i % 7) : 0,
    ); // 0: nothing came
    const isKnown = Uint8Array.from(values, (value) => (value > 0 ? 1 : 0));
    expect(rangeWithoutOutliers(values, isKnown)).toMatchObject({
      least: 40,
      most: 46,
      isClipped: false,
    });
    expect(rangeWithoutOutliers(values, new Uint8Array(6000))).toMatchObject({ least: 0, most: 1 });
  });
  it("are of finite and known values", () => {
    expect(rangeOf(matrix(1, 6, [NaN, 3, -2, Infinity, 0, 99], [1, 1, 1, 1, 1, 0]))).toMatchObject({
      least: -2,
      most: 3,
      leastMagnitude: 2,
    });
  });
  it("leave out a first step that took ten times as long, and say so", () => {
    const values = Float32Array.from({ length: 400 }, (_, i) => (i === 0 ? 900 : 40 + (i % 7)));
    expect(rangeWithoutOutliers(values, allKnown(400))).toMatchObject({
      least: 40,
      most: 1.5 * 43,
      isClipped: true,
    });
  });
  it("keep what a tenth of the steps show", () => {
    const values = Float32Array.from({ length: 400 }, (_, i) => (i % 10 === 0 ? 60 : 40 + (i % 7)));
    expect(rangeWithoutOutliers(values, allKnown(400))).toMatchObject({
      most: 60,
      isClipped: false,
    });
  });
});

describe("pixels", () => {
  const scale = scaleFor("linear", range(0, 1), false);
  it("of NaN, infinite and unknown cells have colours that no value has", () => {
    const pixels = new Uint32Array(6);
    paint(
      matrix(2, 3, [0, 1, NaN, Infinity, -Infinity, 0.5], [1, 1, 1, 1, 1, 0]),
      scale,
      tableOf("viridis"),
      pixels,
    );
    const table = tableOf("viridis");
    expect([...pixels]).toEqual([
      table[0],
      table[LEVELS - 1],
      NAN_PIXEL,
      INFINITE_PIXEL,
      INFINITE_PIXEL,
      NOTHING_PIXEL,
    ]);
    for (const palette of PALETTES) {
      expect(tableOf(palette)).not.toContain(NAN_PIXEL);
      expect(tableOf(palette)).not.toContain(INFINITE_PIXEL);
    }
  });
  it("of viridis and cividis grow lighter from end to end", () => {
    for (const palette of ["viridis", "cividis"] as const) {
      const light = [...tableOf(palette)].map(
        (p) => 0.2126 * (p & 255) + 0.7152 * ((p >> 8) & 255) + 0.0722 * ((p >> 16) & 255),
      );
      for (let i = 8; i < LEVELS; i++) expect(light[i]).toBeGreaterThan(light[i - 8]);
    }
  });
});

describe("many cells in few pixels", () => {
  it("show the largest magnitude, infinite before it, NaN before all, wherever it is", () => {
    expect([...pooled(matrix(1, 8, [1, -5, 2, Infinity, NaN, 3, 4, NaN]), 1, 4).values]).toEqual([
      -5,
      Infinity,
      NaN,
      NaN,
    ]);
  });
  it("leave out unknown ones", () => {
    const result = pooled(matrix(2, 2, [9, 1, 9, 9], [0, 1, 0, 0]), 2, 1);
    expect([...result.values]).toEqual([1, 0]);
    expect([...(result.isKnown as Uint8Array)]).toEqual([1, 0]);
  });
  it("are as they were where they fit", () => {
    const all = matrix(2, 2, [1, 2, 3, 4]);
    expect(pooled(all, 2, 2)).toBe(all);
  });
  it("are the same of binary16, by bits", () => {
    const values = [1, -5, 2, Infinity, NaN, 3, 4, -Infinity, 0, -0.5, 6e-8, 0, 7, 7, -7, 0, -0, 0];
    const bits = Uint16Array.from(values, halfBits);
    for (const [rows, columns] of [
      [1, 18],
      [3, 6],
      [6, 3],
      [18, 1],
    ]) {
      for (const [toRows, toColumns] of [
        [1, 1],
        [2, 4],
        [5, 2],
        [20, 20],
      ]) {
        const half = Float32Array.from(bits, (one) => halfTable()[one]);
        expect(pooledHalf(bits, 1, rows, columns, toRows, toColumns).values).toEqual(
          pooled({ rows, columns, values: half }, toRows, toColumns).values,
        );
        const scaled = half.map((value) => value * 2 ** 20);
        expect(pooledHalf(bits, 2 ** 20, rows, columns, toRows, toColumns).values).toEqual(
          pooled({ rows, columns, values: scaled }, toRows, toColumns).values,
        );
      }
    }
  });
  it("lose none of uneven shares", () => {
    const all = matrix(
      7,
      5,
      Array.from({ length: 35 }, (_, i) => i),
    );
    expect(Math.max(...pooled(all, 3, 2).values)).toBe(34);
  });
});

describe("numbers for people", () => {
  it.each([
    [0, "0"],
    [1234.56, "1235"],
    [12.3456, "12.35"],
    [0.0123456, "0.01235"],
    [-3.5, "−3.5"],
    [1e-7, "1e−7"],
    [123456789, "1.235e8"],
    [NaN, "NaN"],
    [Infinity, "∞"],
    [100, "100"],
    [1200, "1200"],
    [2.50001, "2.5"],
  ])("%d is %s", (value, text) => expect(short(value)).toBe(text));
  it("have units", () => {
    expect([
      duration(3.25),
      duration(25000),
      duration(NaN),
      bytes(100),
      bytes(1536),
      bytes(5 * 2 ** 20),
    ]).toEqual(["3.25 ms", "25 s", "–", "100 B", "1.5 KiB", "5.0 MiB"]);
    expect(counted(1234567)).toBe("1\u202f234\u202f567");
    expect([noNumbers(3, 0), noNumbers(0, 2), noNumbers(1, 1), noNumbers(0, 0)]).toEqual([
      "3 NaN",
      "2 infinite",
      "1 NaN, 1 infinite",
      "",
    ]);
  });
  it("on axes are round and within", () => {
    expect(ticks(43, 242, 5)).toEqual([50, 100, 150, 200]);
    expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(ticks(7, 7, 5)).toEqual([7]);
    expect(ticks(3, 5, 12, 1)).toEqual([3, 4, 5]);
  });
});

describe("times", () => {
  it.each([
    [0, "0"],
    [4.7e-5, "47 ns"],
    [0.00473, "4.73 µs"],
    [0.5, "500 µs"],
    [20, "20 ms"],
    [99.96, "100 ms"],
    [999.4, "999 ms"],
    [1000, "1 s"],
    [18253, "18.3 s"],
    [123456, "123 s"],
    [NaN, "–"],
  ])("of %d ms", (ms, text) => expect(time(ms)).toBe(text));
  it("that elapsed", () =>
    expect([0, 59_999, 192_000, 18_420_000].map(elapsed)).toEqual([
      "0 s",
      "59 s",
      "3 min 12 s",
      "5 h 7 min",
    ]));
  it("as shares", () =>
    expect([0, 0.003, 0.12, 1].map(share)).toEqual(["0 %", "0.30 %", "12 %", "100 %"]));
});
