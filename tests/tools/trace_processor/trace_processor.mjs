// Perfetto's trace processor (its WebAssembly build) in Node: opens a trace and answers SQL.
// It is made for a browser's worker: what it needs of one is given to it here, and only the files of `directory` are used.
import fs from 'node:fs';
import path from 'node:path';

const kAppendTraceData = 1;
const kFinalizeTraceData = 2;
const kQueryStreaming = 3;
const kChunkBytes = 4 << 20;
const kMemorySection = 5;  // of a WebAssembly module; the probe starts with it
// Field numbers: protos/perfetto/trace_processor/trace_processor.proto.
const kRpc = { request: 2, response: 3, fatalError: 5, appendData: 101, queryArgs: 103, appendResult: 201, queryResult: 203 };

function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 0x80n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 0x7fn) | 0x80);
  }
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

class Reader {
  constructor(buffer) {
    this.buffer = buffer;
    this.at = 0;
  }
  get done() { return this.at >= this.buffer.length; }
  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.buffer[this.at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
  }
  fixed64() {
    this.at += 8;
    return this.buffer.readDoubleLE(this.at - 8);
  }
  bytes() {
    const size = Number(this.varint());
    this.at += size;
    return this.buffer.subarray(this.at - size, this.at);
  }
  *fields() {
    while (!this.done) {
      const tag = Number(this.varint());
      const wire = tag & 7;
      if (wire === 0) yield [tag >> 3, this.varint()];
      else if (wire === 1) yield [tag >> 3, this.fixed64()];
      else if (wire === 2) yield [tag >> 3, this.bytes()];
      else throw new Error(`wire type ${wire} in an answer of the trace processor`);
    }
  }
}

/** Columns and rows of a QueryResult; integers beyond 2^53 stay BigInt. */
class Rows {
  columns = [];
  rows = [];
  isComplete = false;
  error = '';
  #row = [];

  add(message) {
    for (const [field, value] of new Reader(message).fields()) {
      if (field === 1) this.columns.push(value.toString());
      if (field === 2) this.error = value.toString();
      if (field === 3) this.#addBatch(value);
    }
    if (this.error) this.isComplete = true;
  }
  #addBatch(message) {
    const cells = { kinds: [], integers: [], doubles: [], blobs: [], strings: [] };
    for (const [field, value] of new Reader(message).fields()) {
      if (field === 1) cells.kinds = [...value];
      if (field === 2) for (const reader = new Reader(value); !reader.done; ) cells.integers.push(reader.varint());
      if (field === 3) for (const reader = new Reader(value); !reader.done; ) cells.doubles.push(reader.fixed64());
      if (field === 4) cells.blobs.push(value);
      if (field === 5) cells.strings = value.toString().split('\0');
      if (field === 6) this.isComplete = value !== 0n;
    }
    const next = { integers: 0, doubles: 0, blobs: 0, strings: 0 };
    const take = (kind) => cells[kind][next[kind]++];
    for (const kind of cells.kinds) {
      let cell = null;
      if (kind === 2) cell = take('integers');
      if (kind === 3) cell = take('doubles');
      if (kind === 4) cell = take('strings');
      if (kind === 5) cell = take('blobs');
      if (typeof cell === 'bigint' && BigInt.asIntN(53, cell) === cell) cell = Number(cell);
      this.#row.push(cell);
      if (this.#row.length === this.columns.length) {
        this.rows.push(Object.fromEntries(this.#row.map((value, column) => [this.columns[column], value])));
        this.#row = [];
      }
    }
  }
}

/** WebAssembly that refuses the probe for 64-bit memory: that build is not in the directory. */
function memory32Only() {
  const shown = Object.create(WebAssembly);
  shown.Module = function (binary) {
    const isProbe = binary[8] === kMemorySection && binary.length < 30;
    if (isProbe) throw new Error('64-bit memory is not used');
    return new WebAssembly.Module(binary);
  };
  return shown;
}

/** An XMLHttpRequest whose every answer is `content`. */
function fileRequest(content) {
  return class {
    response = content;
    open() {}
    send() {}
  };
}

export class TraceProcessor {
  #port;
  #sequence = 0;
  #pending = [];
  #received = Buffer.alloc(0);

  /** directory: where trace_processor.wasm and engine_bundle.node.js lie. */
  static async open(directory) {
    const processor = new TraceProcessor();
    await processor.#start(directory);
    return processor;
  }

  async #start(directory) {
    const wasm = fs.readFileSync(path.join(directory, 'trace_processor.wasm'));
    const source = fs.readFileSync(path.join(directory, 'engine_bundle.node.js'), 'utf8').split('//# sourceMappingURL')[0];
    const worker = { location: { href: 'file:///' } };
    new Function('self', 'WebAssembly', 'XMLHttpRequest', 'WorkerGlobalScope', 'console', source)(
        worker, memory32Only(), fileRequest(wasm), class {}, { ...console, log() {}, warn() {}, error() {} });
    const channel = new MessageChannel();
    this.#port = channel.port1;
    this.#port.onmessage = (message) => this.#onBytes(Buffer.from(message.data));
    await new Promise((resolve) => setTimeout(resolve, 0));  // its start ends in promises, all resolved by now
    worker.onmessage({ data: channel.port2 });
    await this.query('SELECT 1');
  }

  close() { this.#port.close(); }

  #send(method, parts = []) {
    const message = Buffer.concat([number(1, this.#sequence++), number(kRpc.request, method), ...parts]);
    this.#port.postMessage(new Uint8Array(bytes(1, message)));
    return new Promise((resolve, reject) => this.#pending.push({ method, resolve, reject, rows: new Rows() }));
  }

  #onBytes(chunk) {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (const [, message] of new Reader(this.#received).fields()) this.#onMessage(message);
    this.#received = Buffer.alloc(0);
  }

  #onMessage(message) {
    const call = this.#pending[0];
    if (!call) return;
    let error = '';
    let isComplete = call.method !== kQueryStreaming;
    for (const [field, value] of new Reader(message).fields()) {
      if (field === kRpc.fatalError) [error, isComplete] = [value.toString(), true];
      if (field === kRpc.appendResult) {
        for (const [inner, text] of new Reader(value).fields()) if (inner === 2) error = text.toString();
      }
      if (field === kRpc.queryResult) {
        call.rows.add(value);
        [error, isComplete] = [call.rows.error, call.rows.isComplete];
      }
    }
    if (!isComplete) return;
    this.#pending.shift();
    if (error) call.reject(new Error(error));
    else call.resolve(call.rows.rows);
  }

  async load(file) {
    const trace = fs.readFileSync(file);
    for (let at = 0; at < trace.length; at += kChunkBytes) {
      await this.#send(kAppendTraceData, [bytes(kRpc.appendData, trace.subarray(at, at + kChunkBytes))]);
    }
    await this.#send(kFinalizeTraceData);
  }

  /** Rows as objects, by column name. */
  query(sql) {
    return this.#send(kQueryStreaming, [bytes(kRpc.queryArgs, bytes(1, Buffer.from(sql)))]);
  }
}
