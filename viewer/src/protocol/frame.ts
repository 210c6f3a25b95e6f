// Binary frames of the live view's protocol (docs/live_protocol.md). Arrays are views of the frame's buffer; only steps are copied, to
// convert them to numbers.

export const HEADER_BYTES = 16;
const MAGIC = 0x314c534d; // "MSL1", little-endian
const decoder = new TextDecoder("utf-8", { fatal: true });

interface FrameBase {
  panel: string;
  step: number;
  dropped: number;
  leftOut: boolean; // data of this panel was dropped before this frame
  number: number;
  bytes: number;
}

export interface StepsFrame extends FrameBase {
  kind: 1;
  steps: Float64Array; // [n]
  beganMs: Float64Array; // [n] ms since the epoch
  intervalMs: number; // length of the intervals in rows, if the application annotates no steps; 0: rows are steps
  ranks: number;
  columns: string[];
  values: Float32Array[]; // for each column [n][ranks]; NaN: unknown
}

export interface CountersFrame extends FrameBase {
  kind: 2;
  steps: Float64Array; // [n]
  ids: Uint32Array; // [c]
  values: Float64Array; // [n][c]; NaN: not set in the step
}

export interface StatisticsFrame extends FrameBase {
  kind: 3;
  steps: Float64Array; // [n]
  ids: Uint32Array; // [c]
  columns: string[];
  values: Float64Array[]; // for each column [n][c]; NaN: unknown
}

export interface TensorFrame extends FrameBase {
  kind: 4;
  tensor: number;
  name: string;
  tensorKind: string;
  layer: number;
  microBatch: number;
  replica: number;
  ranks: number[];
  missing: number; // number of ranks whose part is missing
  beginMs: number;
  endMs: number;
  dtype: string;
  encoding: "f16" | "f32";
  scale: number; // factor for the elements
  fullShape: number[];
  shape: number[];
  view: { type: string; tiles?: number; tile_width?: number; method?: string };
  elements: Uint16Array | Float32Array; // Uint16Array: IEEE 754 binary16, see half.ts
}

/** One entry for each function. */
export interface CallSums {
  calls: Float64Array;
  timeMs: Float64Array;
  sent: Float64Array;
  received: Float64Array;
}

export interface CallsFrame extends FrameBase {
  kind: 5;
  functions: string[];
  total: CallSums; // over all ranks since the start of the run
  newest: CallSums; // over all ranks, of the newest interval of each
  intervalMs: number;
  elapsedMs: Float64Array; // [ranks] since the first call; 0: unknown
  mpiMs: Float64Array; // [ranks] of it, in MPI
  cells: number; // number of rows and columns of the matrices
  cellRanks: number; // ranks in a row or column
  bytesTo: Float64Array; // [cells][cells], sender first
  messagesTo: Float64Array; // the same layout
}

export type Frame = StepsFrame | CountersFrame | StatisticsFrame | TensorFrame | CallsFrame;

type Metadata = Record<string, unknown>;

/** Reads arrays from the payload; each begins at a multiple of 8. */
class Payload {
  constructor(
    private readonly buffer: ArrayBuffer,
    private offset: number,
  ) {}

  private take(bytes: number): number {
    const start = this.offset;
    if (start + bytes > this.buffer.byteLength)
      throw new Error(`a frame has ${this.buffer.byteLength} of ${start + bytes} bytes`);
    this.offset = aligned(start + bytes);
    return start;
  }

  float64(count: number): Float64Array {
    return new Float64Array(this.buffer, this.take(count * 8), count);
  }
  float32(count: number): Float32Array {
    return new Float32Array(this.buffer, this.take(count * 4), count);
  }
  uint32(count: number): Uint32Array {
    return new Uint32Array(this.buffer, this.take(count * 4), count);
  }
  uint16(count: number): Uint16Array {
    return new Uint16Array(this.buffer, this.take(count * 2), count);
  }
  /** int64 values as numbers; exact up to 2^53. */
  int64(count: number): Float64Array {
    const start = this.take(count * 8);
    const low = new Uint32Array(this.buffer, start, count * 2);
    const high = new Int32Array(this.buffer, start, count * 2);
    const numbers = new Float64Array(count);
    for (let i = 0; i < count; i++) numbers[i] = high[2 * i + 1] * 4294967296 + low[2 * i];
    return numbers;
  }
}

const aligned = (offset: number): number => (offset + 7) & ~7;

function count(metadata: Metadata, field: string): number {
  const value = metadata[field];
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
    throw new Error(`a frame's ${field} is not a count: ${String(value)}`);
  return value;
}

function numbers(metadata: Metadata, field: string): number[] {
  const value = metadata[field];
  return Array.isArray(value)
    ? value.filter((entry): entry is number => typeof entry === "number")
    : [];
}

function columns(metadata: Metadata): string[] {
  const value = metadata.columns;
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === "string"))
    throw new Error("a frame has no columns");
  return value;
}

const number = (metadata: Metadata, field: string, otherwise: number): number =>
  typeof metadata[field] === "number" ? (metadata[field] as number) : otherwise;
const text = (metadata: Metadata, field: string): string =>
  typeof metadata[field] === "string" ? (metadata[field] as string) : "";

function readTensor(base: FrameBase, metadata: Metadata, payload: Payload): TensorFrame {
  const shape = numbers(metadata, "shape");
  const elements = shape.reduce((product, extent) => product * extent, 1);
  if (!Number.isInteger(elements) || elements < 0) throw new Error("a frame's shape is not one");
  const encoding = text(metadata, "encoding");
  if (encoding !== "f16" && encoding !== "f32")
    throw new Error(`unknown encoding of a frame: ${encoding}`);
  return {
    ...base,
    kind: 4,
    tensor: number(metadata, "tensor", -1),
    name: text(metadata, "name"),
    tensorKind: text(metadata, "kind"),
    layer: number(metadata, "layer", -1),
    microBatch: number(metadata, "micro_batch", -1),
    replica: number(metadata, "replica", 0),
    ranks: numbers(metadata, "ranks"),
    missing: number(metadata, "missing", 0),
    beginMs: number(metadata, "begin_ms", NaN),
    endMs: number(metadata, "end_ms", NaN),
    dtype: text(metadata, "dtype"),
    encoding,
    scale: number(metadata, "scale", 1),
    fullShape: numbers(metadata, "full_shape"),
    shape,
    view: (metadata.view ?? { type: "whole" }) as TensorFrame["view"],
    elements: encoding === "f16" ? payload.uint16(elements) : payload.float32(elements),
  };
}

function readCalls(base: FrameBase, metadata: Metadata, payload: Payload): CallsFrame {
  const names = metadata.functions;
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string"))
    throw new Error("a frame has no functions");
  const sums = (): CallSums => {
    const [calls, timeMs, sent, received] = [0, 1, 2, 3].map(() => payload.float64(names.length));
    return { calls, timeMs, sent, received };
  };
  const total = sums();
  const newest = sums();
  const ranks = count(metadata, "ranks");
  const [elapsedMs, mpiMs] = [payload.float64(ranks), payload.float64(ranks)];
  const cells = count(metadata, "cells");
  const [bytesTo, messagesTo] = [payload.float64(cells * cells), payload.float64(cells * cells)];
  return {
    ...base,
    kind: 5,
    functions: names,
    total,
    newest,
    intervalMs: number(metadata, "interval_ms", 0),
    elapsedMs,
    mpiMs,
    cells,
    cellRanks: number(metadata, "cell_ranks", 1),
    bytesTo,
    messagesTo,
  };
}

/**
 * Parses a frame; its arrays are valid as long as the buffer. Returns undefined for unknown kinds. Throws an error with a sentence if the
 * frame is malformed. Requires a little-endian machine, as all browsers run on.
 */
export function readFrame(buffer: ArrayBuffer): Frame | undefined {
  if (buffer.byteLength < HEADER_BYTES)
    throw new Error(`a frame of ${buffer.byteLength} bytes has no header`);
  const header = new DataView(buffer);
  if (header.getUint32(0, true) !== MAGIC) throw new Error("a frame does not begin with MSL1");
  const kind = header.getUint8(4);
  const length = header.getUint32(12, true);
  if (HEADER_BYTES + length > buffer.byteLength) throw new Error("a frame ends in its metadata");
  if (kind < 1 || kind > 5) return undefined;
  const metadata = JSON.parse(
    decoder.decode(new Uint8Array(buffer, HEADER_BYTES, length)),
  ) as Metadata;
  const payload = new Payload(buffer, aligned(HEADER_BYTES + length));
  const base: FrameBase = {
    panel: text(metadata, "panel"),
    step: number(metadata, "step", -1),
    dropped: number(metadata, "dropped", 0),
    leftOut: (header.getUint8(5) & 1) !== 0,
    number: header.getUint32(8, true),
    bytes: buffer.byteLength,
  };
  if (kind === 4) return readTensor(base, metadata, payload);
  if (kind === 5) return readCalls(base, metadata, payload);
  const n = count(metadata, "steps");
  const steps = payload.int64(n);
  if (kind === 1) {
    const ranks = count(metadata, "ranks");
    const beganMs = payload.float64(n);
    const names = columns(metadata);
    const intervalMs = number(metadata, "interval_ms", 0);
    return {
      ...base,
      kind,
      steps,
      beganMs,
      intervalMs,
      ranks,
      columns: names,
      values: names.map(() => payload.float32(n * ranks)),
    };
  }
  const c = count(metadata, "count");
  const ids = payload.uint32(c);
  if (kind === 2) return { ...base, kind, steps, ids, values: payload.float64(n * c) };
  const names = columns(metadata);
  return {
    ...base,
    kind: 3,
    steps,
    ids,
    columns: names,
    values: names.map(() => payload.float64(n * c)),
  };
}
