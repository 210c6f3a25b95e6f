import type { TensorFrame } from "../protocol/frame";
import type { Generation } from "./generation";

/** A view of a layer's attention: [heads, queries, columns] of the first sequence. */
export interface Attention {
  frame: TensorFrame;
  heads: number;
  queries: number;
  columns: number;
  keys: number; // number of keys in the columns
  keysAColumn: number;
}

/** Length of the computed text in tokens. Keys and queries are its last ones, because a model has a limited context. */
export const lengthOf = ({ frame, keys }: Attention, { lengthLessStep }: Generation): number =>
  Number.isNaN(lengthLessStep) ? keys : frame.step + lengthLessStep;

/** undefined: the view has no queries and keys. */
export function attentionOf(frame: TensorFrame): Attention | undefined {
  const [columns, queries, heads = 1] = [...frame.shape].reverse();
  const keys = frame.fullShape.at(-1) ?? columns;
  if (!(columns > 0) || !(queries > 0) || heads < 1 || keys < queries) return undefined;
  return { frame, heads, queries, columns, keys, keysAColumn: frame.view.tile_width ?? 1 };
}

/** If several tensors of a layer match, one is shown. */
const isBefore = (one: TensorFrame, other: TensorFrame): boolean =>
  one.panel === other.panel ? one.tensor < other.tensor : one.panel < other.panel;

/** The newest view of each layer's attention while the page's request is processed. Views of other requests and of training are ignored. */
export class AttentionViews {
  private readonly held = new Map<number, Attention>();

  /** False: the view does not belong to the request. */
  add(frame: TensorFrame, generation: Generation): boolean {
    const { state } = generation;
    const attention = attentionOf(frame);
    if (!attention || !["running", "finished"].includes(state.phase)) return false;
    const length = lengthOf(attention, generation);
    if (
      !state.ask ||
      attention.keys > length ||
      length < state.promptCount ||
      length >= state.promptCount + state.ask.tokens
    )
      return false;
    if (
      state.phase === "finished" &&
      Number.isNaN(generation.lengthLessStep) &&
      !this.goesOn(attention, state.count)
    )
      return false;
    const same = this.held.get(frame.layer);
    if (same && isBefore(same.frame, frame)) return false;
    this.held.set(frame.layer, attention);
    return true;
  }

  of(layer: number): Attention | undefined {
    return this.held.get(layer);
  }
  layers(): number[] {
    return [...this.held.keys()].sort((a, b) => a - b);
  }
  clear(): void {
    this.held.clear();
  }

  /** Without step numbers: a view after the end belongs to the request if it continues the text, one token for each step. */
  private goesOn({ frame, keys }: Attention, count: number): boolean {
    const [one] = this.held.values();
    return one ? frame.step - keys === one.frame.step - one.keys : keys === count - 1;
  }
}
