import { describe, expect, it, vi } from "vitest";

vi.stubGlobal("window", {
  matchMedia: () => ({ matches: false, addEventListener: () => undefined }),
});
const { smoothed } = await import("../../src/views/run_charts");

describe("smoothing", () => {
  it("is the mean of the last values that are known and finite", () => {
    expect(smoothed([1, 2, null, 3, Infinity, 4, 5], 3)).toEqual([1, 1.5, null, 2, Infinity, 3, 4]);
  });
  it("of one value is the value", () => expect(smoothed([3, null, 5], 1)).toEqual([3, null, 5]));
});
