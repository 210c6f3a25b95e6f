import { describe, expect, it } from "vitest";
import { readFrame, type Frame } from "../../src/protocol/frame";
import {
  extremesOf,
  joined,
  layoutOf,
  steadyRange,
  stripKey,
  TensorViews,
  unravel,
} from "../../src/store/tensor_views";
import * as encode from "../mock_server/encode.js";

const frame = <F extends Frame>(kind: number, metadata: object, arrays: Buffer[]): F =>
  readFrame(
    new Uint8Array(
      encode.frame(kind, 0, 0, { panel: "p", step: 0, dropped: 0, ...metadata }, arrays),
    ).buffer as ArrayBuffer,
  ) as F;

describe("views of tensors", () => {
  it("are rows of tokens, whichever dimensions follow", () => {
    expect(layoutOf([2, 8, 4, 16])).toMatchObject({
      rows: 16,
      columns: 64,
      rowExtents: [2, 8],
      columnExtents: [4, 16],
    });
    expect(layoutOf([6, 3])).toMatchObject({ rows: 6, columns: 3 });
    expect(layoutOf([5])).toMatchObject({ rows: 1, columns: 5 });
    expect(layoutOf([])).toMatchObject({ rows: 1, columns: 1 });
    expect(unravel(37, [4, 16])).toEqual([2, 5]);
  });
  it("have their extremes among finite elements", () => {
    const half = Uint16Array.from([1, -2, NaN, Infinity, 0, 0.5], encode.halfBits);
    const expected = { least: -2, most: 1, leastMagnitude: 0.5, nan: 1, infinite: 1 };
    expect(extremesOf(half)).toEqual(expected);
    expect(extremesOf(half, 2 ** 30)).toEqual({
      least: -(2 ** 31),
      most: 2 ** 30,
      leastMagnitude: 2 ** 29,
      nan: 1,
      infinite: 1,
    });
    expect(extremesOf(Float32Array.of(1, -2, NaN, -Infinity, 0, 0.5))).toEqual(expected);
    expect(joined([expected, extremesOf(Float32Array.of(7))])).toEqual({
      least: -2,
      most: 7,
      leastMagnitude: 0.5,
      nan: 1,
      infinite: 1,
    });
  });
  it("keep their colour scale while it fits", () => {
    const range = (least: number, most: number) => ({
      least,
      most,
      leastMagnitude: 1,
      nan: 0,
      infinite: 0,
    });
    const held = range(-1, 1);
    expect(steadyRange(held, range(-0.9, 0.7))).toBe(held);
    for (const now of [range(-1.1, 1), range(-1, 1.5), range(-0.1, 0.1)])
      expect(steadyRange(held, now)).toBe(now);
    expect(steadyRange(null, held)).toBe(held);
  });
  it("of several tensors of one layer are all there", () => {
    const views = new TensorViews();
    const view = (tensor: number, layer: number) =>
      frame<Extract<Frame, { kind: 4 }>>(
        4,
        { panel: "s", layer, tensor, encoding: "f32", shape: [1] },
        [encode.float32([tensor])],
      );
    for (const [tensor, layer] of [
      [9, 0],
      [4, 1],
      [3, 0],
      [9, 0],
    ])
      views.add(view(tensor, layer));
    expect(views.strips("s").map(({ frame: { tensor, layer } }) => [layer, tensor])).toEqual([
      [0, 3],
      [0, 9],
      [1, 4],
    ]);
    expect(views.strip("s", stripKey({ tensor: 9, layer: 0 }))?.frame.elements[0]).toBe(9);
  });
  it("are the newest of each layer", () => {
    const views = new TensorViews();
    const view = (layer: number, step: number) =>
      frame<Extract<Frame, { kind: 4 }>>(
        4,
        { panel: "s", step, layer, tensor: layer, encoding: "f32", shape: [1, 2] },
        [encode.float32([step, 2])],
      );
    for (const [layer, step] of [
      [1, 1],
      [0, 1],
      [1, 2],
    ])
      views.add(view(layer, step));
    expect(views.strips("s").map(({ frame: { layer, step } }) => [layer, step])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    views.clear("s");
    expect(views.strips("s")).toEqual([]);
  });
});
