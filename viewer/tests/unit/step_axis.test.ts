import { describe, expect, it, vi } from "vitest";
import { StepAxis } from "../../src/store/step_axis";
import { noise } from "../mock_server/data.js";

/** Each step's column has the step and its negative; in bulk, or one by one. */
function fill(axis: StepAxis, all: number[], isBulk: boolean): void {
  if (isBulk) axis.placeAll(all);
  for (const step of all) {
    const index = isBulk ? axis.find(step) : axis.place(step);
    if (index >= 0) axis.columnData(0).set([step, -step], index * 2);
  }
}
function axisOf(most: number, all: number[]): StepAxis {
  const axis = new StepAxis(most);
  axis.addColumn(2, true);
  fill(axis, all, false);
  return axis;
}
const steps = (axis: StepAxis): number[] => [...axis.steps.subarray(0, axis.count)];
const numbers = (axis: StepAxis): number[] => [...axis.columnData(0).subarray(0, 2 * axis.count)];

describe("an axis of steps", () => {
  it("keeps the newest with their columns", () => {
    const axis = new StepAxis(100);
    const column = axis.addColumn(2, false);
    for (let step = 0; step < 1000; step++) {
      const index = axis.place(step);
      axis.columnData(column).set([step, -step], index * 2);
    }
    expect(axis.count).toBeLessThanOrEqual(100);
    expect(axis.count).toBeGreaterThan(80);
    expect(axis.last()).toBe(999);
    const index = axis.lowerBound(950);
    expect([
      axis.steps[index],
      ...axis.columnData(column).subarray(index * 2, index * 2 + 2),
    ]).toEqual([950, 950, -950]);
  });
  it("finds steps that are there again", () => {
    const axis = axisOf(100, [3, 5, 9]);
    expect([axis.place(5), axis.find(4), axis.place(10), axis.count]).toEqual([1, -1, 3, 4]);
  });
  it("puts a late step in its order, and its columns move along", () => {
    const axis = axisOf(100, [3, 5, 9]);
    expect([axis.place(4), axis.place(1), axis.place(8)]).toEqual([1, 0, 4]);
    expect(steps(axis)).toEqual([1, 3, 4, 5, 8, 9]);
    expect(numbers(axis)).toEqual([NaN, NaN, 3, -3, NaN, NaN, 5, -5, NaN, NaN, 9, -9]);
    expect([axis.first(), axis.last(), axis.find(9), axis.lowerBound(6)]).toEqual([1, 9, 5, 4]);
  });
  it("that is full refuses a step older than its oldest; for one between the oldest gives way", () => {
    const axis = axisOf(4, [10, 20, 30, 40]);
    expect([axis.place(9), axis.place(35), axis.place(15), axis.place(25)]).toEqual([-1, 2, -1, 0]);
    expect(steps(axis)).toEqual([25, 30, 35, 40]);
    expect(numbers(axis)).toEqual([NaN, NaN, 30, -30, NaN, NaN, 40, -40]);
  });
  it("takes late steps in bulk, in any order, among steps that are there and new ones", () => {
    const axis = axisOf(100, [10, 20, 30]);
    axis.placeAll([25, 5, 20, 40, 35, 25, 7, 40, 50]);
    expect(steps(axis)).toEqual([5, 7, 10, 20, 25, 30, 35, 40, 50]);
    expect(numbers(axis)).toEqual([
      NaN,
      NaN,
      NaN,
      NaN,
      10,
      -10,
      20,
      -20,
      NaN,
      NaN,
      30,
      -30,
      NaN,
      NaN,
      NaN,
      NaN,
      NaN,
      NaN,
    ]);
  });
  it("that is full keeps the newest of late steps in bulk and its own", () => {
    const axis = axisOf(5, [10, 20, 30, 40]);
    axis.placeAll([5, 8, 15, 35]);
    expect(steps(axis)).toEqual([15, 20, 30, 35, 40]);
    expect(numbers(axis)).toEqual([NaN, NaN, 20, -20, 30, -30, NaN, NaN, 40, -40]);
    axis.placeAll([1, 2, 3]);
    expect(steps(axis)).toEqual([15, 20, 30, 35, 40]);
    axis.placeAll([41, 1]);
    expect(steps(axis)).toEqual([20, 30, 35, 40, 41]);
  });
  it("has the same numbers in any order of steps, one by one or in bulk", () => {
    const all = Array.from({ length: 3000 }, (_, i) => 2 * i + (i % 3));
    const expected = axisOf(10000, all);
    for (let seed = 1; seed <= 4; seed++) {
      const shuffled = [...all].sort((a, b) => noise(a, seed) - noise(b, seed));
      const [bulk, single] = [axisOf(10000, []), axisOf(10000, shuffled)];
      for (let at = 0; at < shuffled.length; at += 100 * seed)
        fill(bulk, shuffled.slice(at, at + 100 * seed), true);
      for (const axis of [bulk, single])
        expect([steps(axis), numbers(axis)]).toEqual([steps(expected), numbers(expected)]);
    }
  });
  it("moves what is behind late steps once for all of them", () => {
    const axis = axisOf(
      20000,
      Array.from({ length: 10000 }, (_, i) => 10000 + i),
    );
    const moved = vi.spyOn(Float64Array.prototype, "copyWithin");
    axis.placeAll(Array.from({ length: 1024 }, (_, i) => i));
    const entries = moved.mock.calls.reduce(
      (sum, [, from, to]) => sum + Math.max(0, (to as number) - (from as number)),
      0,
    );
    moved.mockRestore();
    expect(entries).toBe(3 * 10000); // the steps, and a column of two numbers each
  });
  it("that is to keep less gives back its memory, and keeps the newest", () => {
    const axis = new StepAxis(10000);
    const column = axis.addColumn(3, true);
    for (let step = 0; step < 5000; step++) {
      const index = axis.place(step);
      axis.columnData(column).fill(step, index * 3, (index + 1) * 3);
    }
    axis.limit(100);
    expect([
      axis.count,
      axis.first(),
      axis.last(),
      axis.steps.length,
      axis.columnData(column).length,
    ]).toEqual([100, 4900, 4999, 100, 300]);
    expect([...axis.columnData(column).subarray(0, 4)]).toEqual([4900, 4900, 4900, 4901]);
    expect(axis.place(5000)).toBeGreaterThan(80);
  });
  it("has NaN where a column came later or nothing was put", () => {
    const axis = new StepAxis(50);
    axis.place(1);
    const column = axis.addColumn(1, true);
    for (let step = 2; step < 200; step++) axis.place(step);
    expect(axis.columnData(column).subarray(0, axis.count).every(Number.isNaN)).toBe(true);
  });
  it("thins older steps where the first one is to stay", () => {
    for (const isBulk of [false, true]) {
      const axis = new StepAxis(100, true);
      axis.addColumn(2, true);
      for (let from = 0; from < 5000; from += 50)
        fill(
          axis,
          Array.from({ length: 50 }, (_, i) => from + i),
          isBulk,
        );
      expect(axis.count).toBeLessThanOrEqual(100);
      expect([axis.first(), axis.last()]).toEqual([0, 4999]);
      expect(steps(axis)).toEqual([...steps(axis)].sort((a, b) => a - b));
      expect(steps(axis).slice(-20)).toEqual(Array.from({ length: 20 }, (_, i) => 4980 + i));
      expect(numbers(axis)).toEqual(steps(axis).flatMap((step) => [step, -step]));
      expect([...axis.columnData(0).subarray(2 * axis.count)].every(Number.isNaN)).toBe(true);
    }
  });
  it("takes a past that comes late, and keeps its first step", () => {
    const axis = new StepAxis(100, true);
    axis.addColumn(2, true);
    fill(
      axis,
      Array.from({ length: 90 }, (_, i) => 1000 + i),
      true,
    );
    fill(
      axis,
      Array.from({ length: 90 }, (_, i) => 10 * i),
      true,
    );
    fill(
      axis,
      Array.from({ length: 90 }, (_, i) => 1090 + i),
      true,
    );
    expect([axis.first(), axis.last()]).toEqual([0, 1179]);
    expect(axis.count).toBeLessThanOrEqual(100);
    expect(numbers(axis)).toEqual(steps(axis).flatMap((step) => [step, -step]));
    axis.limit(20);
    expect([axis.first(), axis.last(), axis.count <= 20]).toEqual([0, 1179, true]);
    expect(numbers(axis)).toEqual(steps(axis).flatMap((step) => [step, -step]));
  });
});
