import { expect, it } from "vitest";
import { elementAt, halfTable } from "../../src/protocol/half";
import { halfBits } from "../mock_server/encode.js";

it("knows numbers of IEEE 754 binary16 by their bits", () => {
  const table = halfTable();
  const known: [number, number][] = [
    [0x0000, 0],
    [0x8000, -0],
    [0x3c00, 1],
    [0xbc00, -1],
    [0x3555, 0.333251953125],
    [0x7bff, 65504],
    [0x0400, 2 ** -14],
    [0x0001, 2 ** -24],
    [0x03ff, 1023 * 2 ** -24],
    [0x7c00, Infinity],
    [0xfc00, -Infinity],
    [0x7e00, NaN],
    [0xfe01, NaN],
  ];
  for (const [bits, value] of known) expect(table[bits]).toBe(value);
});

it("has all 65,536 of them: what it decodes is encoded to the same bits", () => {
  const table = halfTable();
  for (let bits = 0; bits < 65536; bits++) {
    if (Number.isNaN(table[bits])) expect(bits & 0x7fff).toBeGreaterThan(0x7c00);
    else if (halfBits(table[bits]) !== bits) expect(bits).toBe(`decoded to ${table[bits]}`);
  }
});

it("tells one element of either encoding", () => {
  expect(elementAt({ elements: Uint16Array.of(0x3c00, 0xc000), scale: 1 }, 1)).toBe(-2);
  expect(elementAt({ elements: Uint16Array.of(0x3c00, 0xc000), scale: 2 ** 40 }, 1)).toBe(
    -(2 ** 41),
  );
  expect(elementAt({ elements: Float32Array.of(1, 0.5), scale: 1 }, 1)).toBe(0.5);
});
