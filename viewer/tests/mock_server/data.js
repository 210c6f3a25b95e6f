// Synthetic numbers of a GPT on a few ranks, the same in every run: tests compute what they expect from here.

export const BEGAN_MS = 1_700_000_000_000;
export const SLOW_RANK = 2;
export const NAN_STEP = 150; // from here on the deepest layer's hidden states have NaN
export const KIND = "actv_out";

/** 0 … 1, the same for the same numbers. */
export function noise(...seeds) {
  let hash = 2166136261;
  for (const seed of seeds) hash = Math.imul(hash ^ (seed + 0x9e37), 16777619) ^ (hash >>> 13);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822519);
  return ((hash ^ (hash >>> 13)) >>> 0) / 4294967296;
}

/** step_ms, mpi_ms, own_ms of a rank. All ranks' steps take as long as the slowest one's work. */
export function times(step, rank) {
  const work = (r) =>
    38 + 4 * noise(step, r) + (r === SLOW_RANK && step % 100 >= 40 && step % 100 < 70 ? 22 : 0);
  const longest = 44 + (step % 100 >= 40 && step % 100 < 70 ? 22 : 0) + 3 * noise(step, 999);
  const first = step === 0 ? 400 : 0;
  const stepMs = longest + 2 + first + 3 * noise(step, rank, 7);
  return [stepMs, stepMs - work(rank) - first, 0.02 + 0.01 * noise(step, rank, 3)];
}

const begun = [BEGAN_MS];
/** When a step began: one after the other. */
export function beganMs(step) {
  for (let s = begun.length; s <= step; s++) begun.push(begun[s - 1] + times(s - 1, 0)[0]);
  return begun[step];
}

export const loss = (step) => 1.2 + 5.5 * Math.exp(-step / 120) + 0.08 * (noise(step, 1) - 0.5);
export const gradientNorm = (step) =>
  0.4 + 2 * Math.exp(-step / 60) + 0.15 * noise(step, 2) + (step % 97 === 96 ? 3 : 0);

/** Tensors of a model: [seq, length, ...]. */
export function tensorsOf({ layers, sequences, length, hidden }) {
  const activations = [
    ["qkv", [sequences, length, 3, hidden]],
    ["attention.context", [sequences, length, hidden]],
    ["mlp1", [sequences, length, 4 * hidden]],
    ["mlp2", [sequences, length, hidden]],
    ["hidden", [sequences, length, hidden]],
  ];
  const tensors = [];
  for (let layer = 0; layer < layers; layer++) {
    for (const [name, shape] of activations)
      tensors.push({ name, kind: KIND, layer, shape, dtype: "float32" });
    tensors.push({
      name: `layers.${layer}.qkv.weight`,
      kind: "weight",
      layer,
      shape: [3 * hidden, hidden],
      dtype: "float32",
    });
  }
  for (let layer = 0; layer < layers; layer++)
    tensors.push({
      name: ATTENTION,
      kind: KIND,
      layer,
      shape: [sequences, HEADS, length, length],
      dtype: "float32",
    });
  return tensors.map((tensor, id) => ({ id, ...tensor }));
}

export const ATTENTION = "attention.scores";
export const HEADS = 3;

const rows = new Map();
/** Weights of a query over `count` keys: those behind it get none. */
export function attentionRow(layer, head, query, count) {
  const name = `${layer} ${head} ${query}`;
  if (!rows.has(name)) {
    const row = Array.from({ length: query + 1 }, (_, key) =>
      Math.exp(3 * noise(layer, head, key % 5) - Math.abs(query - key - head) / 2),
    );
    const sum = row.reduce((a, b) => a + b, 0);
    rows.set(
      name,
      row.map((weight) => weight / sum),
    );
  }
  return Array.from({ length: count }, (_, key) => rows.get(name)[key] ?? 0);
}

const LETTERS = "e t\na\x07";
/** The generated token number `index`, and the likeliest in its place: every fifth was not among them. */
export function generated(index) {
  const id = LETTERS.charCodeAt(index % LETTERS.length);
  const others = Array.from({ length: 20 }, (_, i) => 98 + ((index * 3 + i) % 24)).filter(
    (other) => other !== id,
  );
  const ids =
    index % 5 === 4 ? others : [...others.slice(0, index % 3), id, ...others.slice(index % 3)];
  const top = ids.slice(0, 20).map((other, i) => candidate(other, 0.45 * 0.7 ** i));
  return { sampled: top.find((one) => one.id === id) ?? candidate(id, 0.001), top };
}
const candidate = (id, probability) => ({
  id,
  token: String.fromCharCode(id),
  logit: 4 + Math.log(probability),
  probability,
});

export const STATISTIC_COLUMNS = ["count", "nan", "infinite", "min", "max", "mean", "norm"];

const isBroken = (tensor, step, layers) =>
  step >= NAN_STEP && tensor.name === "hidden" && tensor.layer === layers - 1;

/** A tensor's statistics, in the order of STATISTIC_COLUMNS. */
export function statistics(tensor, step, layers) {
  const count = tensor.shape.reduce((a, b) => a * b, 1);
  const spread =
    (0.5 + 0.35 * tensor.layer) *
    (1 + 0.4 * Math.sin(step / 25 + tensor.layer)) *
    (1 + 0.1 * noise(step, tensor.id));
  const nan = isBroken(tensor, step, layers) ? 17 + (step - NAN_STEP) : 0;
  return [count, nan, 0, -3 * spread, 3.2 * spread, 0.05 * spread, spread * Math.sqrt(count)];
}

/** One element of a tile view. */
export function tile(tensor, step, row, column, columns) {
  const wave =
    Math.sin(row / 5 + tensor.layer + step / 10) *
    Math.cos((column / columns) * 9 + tensor.layer * 2);
  const outlier = column === Math.floor(columns / 3) ? 1.5 : 0;
  return (
    (0.5 + 0.35 * tensor.layer) *
    (wave + outlier + 0.4 * (noise(row, column, tensor.id, step) - 0.5))
  );
}
export const isNanTile = (tensor, step, layers, row, column) =>
  isBroken(tensor, step, layers) && row % 16 === 5 && column >= 40 && column < 44;

/** Of a program without steps, after so many intervals: a ring of messages and a sum. Columns: calls, ms, bytes sent, bytes received. */
export function calls(interval, ranks) {
  const functions = ["MPI_Sendrecv", "MPI_Allreduce", "MPI_Barrier"];
  const of = (count) => [
    [count * 10 * ranks, count * 5 * ranks, count ? ranks : 0],
    [count * 40 * ranks, count * 120 * ranks, count * 2],
    [count * 10240 * ranks, count * 40 * ranks, 0],
    [count * 10240 * ranks, count * 40 * ranks, 0],
  ];
  const pairs = (value) =>
    Array.from({ length: ranks * ranks }, (_, at) =>
      (Math.floor(at / ranks) + 1) % ranks === at % ranks ? value : 0,
    );
  const time = Array.from({ length: ranks }, (_, rank) => (interval + 1) * (100 + 50 * rank));
  return {
    functions,
    total: of(interval + 1),
    newest: of(1),
    elapsedMs: time.map(() => (interval + 1) * 500),
    mpiMs: time,
    bytesTo: pairs((interval + 1) * 10240),
    messagesTo: pairs((interval + 1) * 10),
  };
}
