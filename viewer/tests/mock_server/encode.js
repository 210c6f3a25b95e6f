// Frames of docs/live_protocol.md, written independently of how the page reads them.

const align = (bytes) => Math.ceil(bytes / 8) * 8;

/** IEEE 754 binary16 of a number, rounded to nearest even. */
export function halfBits(value) {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  const round = (x) => {
    const low = Math.floor(x);
    const rest = x - low;
    return rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
  };
  if (magnitude < 2 ** -14) return sign | round(magnitude * 2 ** 24);
  const exponent = Math.floor(Math.log2(magnitude));
  const fraction = round((magnitude / 2 ** exponent) * 1024);
  return sign | ((exponent + 15 - 1) * 1024 + fraction); // 1024 carries into the exponent
}

/** arrays: Buffers, each put at a multiple of 8. */
export function frame(kind, flags, number, metadata, arrays) {
  const text = Buffer.from(JSON.stringify(metadata), "utf8");
  const head = Buffer.alloc(align(16 + text.length));
  head.write("MSL1", 0, "latin1");
  head.writeUInt8(kind, 4);
  head.writeUInt8(flags, 5);
  head.writeUInt32LE(number, 8);
  head.writeUInt32LE(text.length, 12);
  text.copy(head, 16);
  const padded = arrays.map((array) =>
    Buffer.concat([array, Buffer.alloc(align(array.length) - array.length)]),
  );
  return Buffer.concat([head, ...padded]);
}

export function int64(values) {
  return bytesOf(BigInt64Array.from(values, BigInt));
}
export function float64(values) {
  return bytesOf(Float64Array.from(values));
}
export function float32(values) {
  return bytesOf(Float32Array.from(values));
}
export function uint32(values) {
  return bytesOf(Uint32Array.from(values));
}
export function float16(values) {
  return bytesOf(Uint16Array.from(values, halfBits));
}

function bytesOf(array) {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}
