// IEEE 754 binary16, with a table of all 65,536 values (256 KiB).

let table: Float32Array | undefined;

function valueOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** [65536] the value of each bit pattern. */
export function halfTable(): Float32Array {
  if (!table) {
    table = new Float32Array(65536);
    for (let bits = 0; bits < 65536; bits++) table[bits] = valueOf(bits);
  }
  return table;
}

/** Element `index` of a tensor frame. */
export function elementAt(
  { elements, scale }: { elements: Uint16Array | Float32Array; scale: number },
  index: number,
): number {
  return (
    (elements instanceof Float32Array ? elements[index] : halfTable()[elements[index]]) * scale
  );
}
