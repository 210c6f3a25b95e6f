// One client's subscriptions, and the frames they get.

import * as data from "./data.js";
import * as encode from "./encode.js";

const MAX_CREDITS = 64;
const MAX_STEPS_A_FRAME = 2000;

const toExpression = (pattern) =>
  new RegExp(
    `^${pattern
      .split("*")
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
      .join(".*")}$`,
  );
export const matches = (pattern, name) => toExpression(pattern).test(name);

export class Panel {
  constructor(name, request, model) {
    Object.assign(this, {
      name,
      request,
      model,
      credits: 2,
      dropped: 0,
      isLeftOut: false,
      next: request.since ?? 0,
      waiting: new Map(),
    });
    const { tensors, counters } = model;
    const named =
      (names) =>
      ({ name: tensor }) =>
        names.some((pattern) => matches(pattern, tensor));
    const inLayers = ({ layer }) =>
      !request.layers || (layer >= request.layers[0] && layer <= request.layers[1]);
    if (request.what === "counters") this.matched = counters.filter(named(request.names ?? ["*"]));
    if (request.what === "statistics")
      this.matched = tensors.filter(
        (t) =>
          named(request.names)(t) &&
          (!request.kinds || request.kinds.includes(t.kind)) &&
          inLayers(t),
      );
    if (request.what === "tensor")
      this.matched = tensors.filter(
        (t) => matches(request.name, t.name) && t.kind === request.kind && inLayers(t),
      );
  }

  addCredits(frames) {
    this.credits = Math.min(MAX_CREDITS, this.credits + frames);
  }

  /** A step has ended: views of tensors are made, newer ones replace those that could not be sent. */
  stepped(step) {
    if (this.request.what !== "tensor") return;
    for (const tensor of this.matched) {
      if (this.waiting.has(tensor.id)) {
        this.dropped++;
        this.isLeftOut = true;
      }
      this.waiting.set(tensor.id, step);
    }
  }

  /** Frames that may be sent now. `last`: the newest step. */
  *due(last, frameNumber) {
    while (this.credits > 0) {
      const made =
        this.request.what === "tensor" ? this.#view(frameNumber()) : this.#news(last, frameNumber);
      if (!made) return;
      this.credits--;
      this.isLeftOut = false;
      yield made;
    }
  }

  #news(last, frameNumber) {
    if (this.next > last) return null;
    const end = Math.min(last + 1, this.next + MAX_STEPS_A_FRAME);
    const steps = Array.from({ length: end - this.next }, (_, i) => this.next + i);
    this.next = end;
    const common = {
      panel: this.name,
      step: steps.at(-1),
      dropped: this.dropped,
      steps: steps.length,
    };
    const head = [frameNumber(), steps, common];
    if (this.request.what === "calls") return this.#calls(...head);
    if (this.request.what === "steps") return this.#steps(...head);
    return this.request.what === "counters" ? this.#counters(...head) : this.#statistics(...head);
  }

  #steps(number, steps, common) {
    const { ranks } = this.model;
    const columns = ["step_ms", "mpi_ms", "own_ms"];
    const rows = steps.flatMap((step) =>
      Array.from({ length: ranks }, (_, rank) => data.times(step, rank)),
    );
    return encode.frame(
      1,
      0,
      number,
      { ...common, ranks, columns, ...(this.model.intervals ? { interval_ms: 500 } : {}) },
      [
        encode.int64(steps),
        encode.float64(steps.map((step) => data.beganMs(step))),
        ...columns.map((_, c) => encode.float32(rows.map((row) => row[c]))),
      ],
    );
  }

  /** The newest state only. */
  #calls(number, _steps, { panel, step, dropped }) {
    const { ranks } = this.model;
    const { functions, total, newest, elapsedMs, mpiMs, bytesTo, messagesTo } = data.calls(
      step,
      ranks,
    );
    const metadata = {
      panel,
      step,
      dropped,
      functions,
      ranks,
      cells: ranks,
      cell_ranks: 1,
      interval_ms: 500,
    };
    return encode.frame(
      5,
      0,
      number,
      metadata,
      [...total, ...newest, elapsedMs, mpiMs, bytesTo, messagesTo].map(encode.float64),
    );
  }

  #counters(number, steps, common) {
    const values = steps.flatMap((step) => this.matched.map(({ value }) => value(step)));
    return encode.frame(2, 0, number, { ...common, count: this.matched.length }, [
      encode.int64(steps),
      encode.uint32(this.matched.map(({ id }) => id)),
      encode.float64(values),
    ]);
  }

  #statistics(number, steps, common) {
    const columns = data.STATISTIC_COLUMNS;
    const rows = steps.flatMap((step) =>
      this.matched.map((tensor) => data.statistics(tensor, step, this.model.layers)),
    );
    return encode.frame(3, 0, number, { ...common, count: this.matched.length, columns }, [
      encode.int64(steps),
      encode.uint32(this.matched.map(({ id }) => id)),
      ...columns.map((_, c) => encode.float64(rows.map((row) => row[c]))),
    ]);
  }

  #view(number) {
    const [next] = this.waiting;
    if (!next) return null;
    const [id, step] = next;
    this.waiting.delete(id);
    const tensor = this.model.tensors[id];
    const { view, encoding = "f16" } = this.request;
    const whole =
      tensor.name === data.ATTENTION && this.model.generation.length
        ? [1, data.HEADS, this.model.generation.length, this.model.generation.length]
        : tensor.shape;
    const keep = view.keep ?? whole.length - 1;
    const kept = whole.slice(0, keep);
    const extent = whole.slice(keep).reduce((a, b) => a * b, 1);
    const tiles = Math.ceil(extent / Math.ceil(extent / view.tiles));
    const shape = [...kept, tiles];
    const rows = shape.slice(0, -1).reduce((a, b) => a * b, 1);
    const elements = this.#elements(tensor, step, rows, tiles, encoding);
    const metadata = {
      panel: this.name,
      step,
      dropped: this.dropped,
      tensor: id,
      name: tensor.name,
      kind: tensor.kind,
      layer: tensor.layer,
      micro_batch: this.request.micro_batch ?? 0,
      replica: 0,
      ranks: [0, 1],
      begin_ms: data.BEGAN_MS,
      end_ms: data.BEGAN_MS + 3,
      dtype: tensor.dtype,
      encoding,
      full_shape: whole,
      shape,
      view: { ...view, tile_width: Math.ceil(extent / view.tiles) },
      missing: 0,
    };
    return encode.frame(4, this.isLeftOut ? 1 : 0, number, metadata, [elements]);
  }

  /** As bytes. Of a still model they are made once, so that making them costs nothing beside the page. */
  #elements(tensor, step, rows, tiles, encoding) {
    const key = `${tensor.id} ${tiles} ${encoding}`;
    const { still } = this.model;
    if (tensor.name === data.ATTENTION) return this.#attention(tensor.layer, rows, tiles, encoding);
    if (still?.has(key)) return still.get(key);
    const elements = new Float32Array(rows * tiles);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < tiles; column++) {
        const isNan = data.isNanTile(tensor, step, this.model.layers, row, column);
        elements[row * tiles + column] = isNan ? NaN : data.tile(tensor, step, row, column, tiles);
      }
    }
    const bytes = encoding === "f16" ? encode.float16(elements) : encode.float32(elements);
    still?.set(key, bytes);
    return bytes;
  }

  /** Of one sequence. */
  #attention(layer, rows, count, encoding) {
    const queries = rows / data.HEADS;
    const elements = Array.from({ length: rows }, (_, row) =>
      data.attentionRow(layer, Math.floor(row / queries), row % queries, count),
    ).flat();
    return encoding === "f16" ? encode.float16(elements) : encode.float32(elements);
  }
}
