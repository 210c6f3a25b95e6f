import { describe, expect, it } from "vitest";
import {
  readFrame,
  type CountersFrame,
  type StatisticsFrame,
  type StepsFrame,
  type TensorFrame,
} from "../../src/protocol/frame";
import { elementAt } from "../../src/protocol/half";
import * as encode from "../mock_server/encode.js";

/** The bytes in a buffer of their own, as a WebSocket hands them over. */
const received = (bytes: Buffer): ArrayBuffer => new Uint8Array(bytes).buffer as ArrayBuffer;
const read = (...parts: Parameters<typeof encode.frame>) =>
  readFrame(received(encode.frame(...parts)));
const HEAD = { panel: "p", step: 8, dropped: 3 };
const TENSOR = {
  ...HEAD,
  tensor: 5,
  name: "mlp1",
  kind: "actv_out",
  layer: 2,
  encoding: "f16",
  shape: [2, 3],
  full_shape: [2, 30],
  ranks: [0, 1],
  missing: 1,
};

describe("a frame", () => {
  it("of steps has a row of ranks a step and column", () => {
    const frame = read(1, 1, 7, { ...HEAD, steps: 2, ranks: 3, columns: ["step_ms", "mpi_ms"] }, [
      encode.int64([5, 8]),
      encode.float64([100.5, 200.5]),
      encode.float32([1, 2, 3, 4, 5, NaN]),
      encode.float32([6, 7, 8, 9, 10, 11]),
    ]) as StepsFrame;
    expect(frame).toMatchObject({
      kind: 1,
      panel: "p",
      step: 8,
      dropped: 3,
      leftOut: true,
      number: 7,
      ranks: 3,
      columns: ["step_ms", "mpi_ms"],
    });
    expect([...frame.steps]).toEqual([5, 8]);
    expect([...frame.beganMs]).toEqual([100.5, 200.5]);
    expect([...frame.values[0]]).toEqual([1, 2, 3, 4, 5, NaN]);
    expect([...frame.values[1]]).toEqual([6, 7, 8, 9, 10, 11]);
  });

  it("of counters has a row of ids a step; an odd number of ids is padded", () => {
    const frame = read(2, 0, 0, { ...HEAD, steps: 2, count: 3 }, [
      encode.int64([-1, 2 ** 40 + 1]),
      encode.uint32([9, 4, 4294967295]),
      encode.float64([1, NaN, 3, 4, 5, 6]),
    ]) as CountersFrame;
    expect([...frame.steps]).toEqual([-1, 2 ** 40 + 1]);
    expect([...frame.ids]).toEqual([9, 4, 4294967295]);
    expect([...frame.values]).toEqual([1, NaN, 3, 4, 5, 6]);
    expect(frame.leftOut).toBe(false);
  });

  it("of statistics has every column that the server names, also later ones", () => {
    const frame = read(3, 0, 0, { ...HEAD, steps: 1, count: 2, columns: ["count", "later"] }, [
      encode.int64([8]),
      encode.uint32([1, 2]),
      encode.float64([10, 20]),
      encode.float64([0.5, -0.5]),
    ]) as StatisticsFrame;
    expect(frame.columns).toEqual(["count", "later"]);
    expect([...frame.values[1]]).toEqual([0.5, -0.5]);
  });

  it("of a tensor keeps the frame's own bytes", () => {
    const buffer = received(
      encode.frame(4, 0, 0, TENSOR, [encode.float16([0, 1, -2.5, NaN, Infinity, 6.104e-5])]),
    );
    const frame = readFrame(buffer) as TensorFrame;
    expect(frame).toMatchObject({
      tensor: 5,
      name: "mlp1",
      tensorKind: "actv_out",
      layer: 2,
      shape: [2, 3],
      fullShape: [2, 30],
      missing: 1,
    });
    expect(frame.elements.buffer).toBe(buffer);
    const values = Array.from({ length: 6 }, (_, i) => elementAt(frame, i));
    expect(values.slice(0, 5)).toEqual([0, 1, -2.5, NaN, Infinity]);
    expect(values[5]).toBeCloseTo(6.104e-5, 8);
  });

  it("of halves with a scale stands for numbers that a half does not reach", () => {
    const frame = read(4, 0, 0, { ...TENSOR, shape: [3], scale: 1024 }, [
      encode.float16([60000, 0.25, -Infinity]),
    ]) as TensorFrame;
    expect([0, 1, 2].map((i) => elementAt(frame, i))).toEqual([60000 * 1024, 256, -Infinity]);
  });

  it("of float32 is told by its encoding", () => {
    const frame = read(4, 0, 0, { ...TENSOR, encoding: "f32", shape: [3] }, [
      encode.float32([1, 2, 3]),
    ]) as TensorFrame;
    expect([...(frame.elements as Float32Array)]).toEqual([1, 2, 3]);
  });

  it("with metadata of any length has its arrays at multiples of 8", () => {
    for (let length = 0; length < 9; length++) {
      const frame = read(2, 0, 0, { ...HEAD, panel: "é".repeat(length), steps: 1, count: 1 }, [
        encode.int64([3]),
        encode.uint32([1]),
        encode.float64([0.25]),
      ]) as CountersFrame;
      expect(frame.panel).toBe("é".repeat(length));
      expect(frame.values[0]).toBe(0.25);
    }
  });

  it("of a kind that is not known is ignored", () => {
    expect(read(9, 0, 0, HEAD, [])).toBeUndefined();
  });
});

describe("what is no frame", () => {
  const whole = encode.frame(1, 0, 0, { ...HEAD, steps: 2, ranks: 1, columns: ["step_ms"] }, [
    encode.int64([1, 2]),
    encode.float64([1, 2]),
    encode.float32([1, 2]),
  ]);

  it("is refused wherever it ends", () => {
    for (let end = 0; end < whole.length; end++)
      expect(() => readFrame(received(whole.subarray(0, end)))).toThrow();
  });
  it("is refused with other first bytes", () => {
    const other = Buffer.from(whole);
    other.write("MSL2", 0);
    expect(() => readFrame(received(other))).toThrow("MSL1");
  });
  it.each([
    ["a count that is none", { ...HEAD, steps: -1, ranks: 1, columns: [] }],
    ["a fraction of a step", { ...HEAD, steps: 1.5, ranks: 1, columns: [] }],
    ["more steps than bytes", { ...HEAD, steps: 1e9, ranks: 1, columns: [] }],
    ["columns that are no names", { ...HEAD, steps: 0, ranks: 1, columns: [1] }],
  ])("is refused with %s", (_, metadata) => expect(() => read(1, 0, 0, metadata, [])).toThrow());
  it("is refused with an encoding that is not known", () =>
    expect(() => read(4, 0, 0, { ...TENSOR, encoding: "q8" }, [])).toThrow("q8"));
  it("never does anything but throw, for any changed byte", () => {
    for (let at = 0; at < whole.length; at++) {
      for (const value of [0, 1, 0x7f, 0xff]) {
        const other = Buffer.from(whole);
        other[at] = value;
        try {
          readFrame(received(other));
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }
    }
  });
});
