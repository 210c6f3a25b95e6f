import type { TensorFrame } from "../protocol/frame";
import type { Generation } from "./generation";

/** A view of a layer's attention: [heads, queries, columns] of the first sequence. */
export interface Attention {
  frame: TensorFrame;
  heads: number;
  queries: number;
  columns: number;
  keys: number; // behind the columns
  keysAColumn: number;
  firstQuery: number; // position of the first query: the queries are the last positions of the keys
}

/** undefined: what has no queries and keys. */
export function attentionOf(frame: TensorFrame): Attention | undefined {
  const [columns, queries, heads = 1] = [...frame.shape].reverse();
  const keys = frame.fullShape.at(-1) ?? columns;
  if (!(columns > 0) || !(queries > 0) || heads < 1 || keys < queries) return undefined;
  return { frame, heads, queries, columns, keys, keysAColumn: frame.view.tile_width ?? 1, firstQuery: keys - queries };
}

/** Where several tensors of a layer are of the names that are asked for one is shown. */
const isBefore = (one: TensorFrame, other: TensorFrame): boolean => (one.panel === other.panel ? one.tensor < other.tensor : one.panel < other.panel);

/** The newest view of each layer's attention while the page's request is done; those of others, and of training, are passed over. */
export class AttentionViews {
  private readonly held = new Map<number, Attention>();

  /** False: it is none of the request's. */
  add(frame: TensorFrame, { state }: Generation): boolean {
    const attention = attentionOf(frame);
    if (!attention || !state.ask || !["running", "finished"].includes(state.phase)) return false;
    const { keys } = attention;
    if (keys < state.promptCount || keys > state.promptCount + state.ask.tokens) return false;
    if (state.phase === "finished" && !this.follows(attention, state.count)) return false;
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

  /** What comes behind the end is ours if it goes on as before: a step a token. */
  private follows({ frame, keys }: Attention, count: number): boolean {
    const [one] = this.held.values();
    return one ? frame.step - keys === one.frame.step - one.keys : keys >= count - 1;
  }
}
