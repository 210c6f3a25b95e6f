// Text messages of the live view's protocol (docs/live_protocol.md) that this page uses.

export interface Tensor {
  id: number;
  name: string;
  kind: string;
  layer: number; // -1: none
  shape: number[];
  dtype: string;
}

export interface Counter {
  id: number;
  name: string;
  rank: number;
  unit: string;
}

/** The description of the run in `hello` and /api/v1/run. Unknown fields are absent. */
export interface Run {
  run_id?: string;
  program?: string;
  command?: string[] | string;
  ranks?: number;
  hosts?: string[];
  directory?: string; // run directory, absolute
  began_ms?: number; // since the epoch
  megascope?: string;
  [field: string]: unknown;
}

/** Whether the program accepts generate requests, and if not, the server's reason. */
export interface Control {
  generate: boolean;
  why: string;
}

/** A generate request. */
export interface Ask {
  prompt: string;
  tokens: number;
  temperature: number;
  topK: number;
  topP: number;
  seed: number;
}

export interface Alert {
  step: number;
  ranks: number[];
  text: string;
  tensor?: number;
}

export type ServerMessage =
  | {
      type: "hello";
      protocol: number;
      megascope: string;
      run: Run;
      bounds?: Record<string, unknown>;
    }
  | { type: "tensors"; tensors: Tensor[] }
  | { type: "counters"; counters: Counter[] }
  | { type: "subscribed"; panel: string; matches: number }
  | { type: "notice"; panel?: string; text: string }
  | ({ type: "alert" } & Alert)
  | { type: "control"; generate: boolean }
  | { type: "reply"; reply: string; id?: unknown; [field: string]: unknown }
  | { type: "drops"; reason: string; count: number }
  | { type: "end"; reason: string; steps: number; directory?: string }
  | { type: "verdict"; text: string }
  | { type: "error"; text: string; panel?: string }
  | { type: "pong"; id?: unknown };

/** keep: number of leading dimensions that stay; the ones after them are merged and cut into tiles. */
export type TileView = { type: "tile"; tiles: number; method: string; keep?: number };
export type View = TileView | { type: "whole" };

/** What a panel asks for: a subscription without the panel's name and `since`, which are added when it is sent. */
export type CaptureRequest =
  | { what: "steps" }
  | { what: "calls" }
  | { what: "counters"; names: string[] }
  | { what: "statistics"; names: string[]; kinds?: string[]; layers?: [number, number] }
  | {
      what: "tensor";
      name: string;
      kind: string;
      layers?: [number, number];
      micro_batch: number;
      replica: number;
      every: number;
      view: View;
      encoding: "f16" | "f32";
    };

export type ClientMessage =
  | ({ type: "subscribe"; panel: string; since?: number } & CaptureRequest)
  | { type: "unsubscribe"; panel: string }
  | { type: "credit"; panel: string; frames: number }
  | {
      type: "request";
      request: "generate";
      id: string;
      prompts: string[];
      tokens: number;
      temperature: number;
      top_k: number;
      top_p: number;
      seed: number;
    }
  | { type: "ping"; id?: number };

const KNOWN = new Set([
  "hello",
  "tensors",
  "counters",
  "subscribed",
  "notice",
  "alert",
  "control",
  "reply",
  "drops",
  "end",
  "verdict",
  "error",
  "pong",
]);
const LISTS: Record<string, string> = { tensors: "tensors", counters: "counters" };

/** The field `control` of the description of the run. */
export function controlOf(run: Run): Control {
  const control = (
    typeof run.control === "object" && run.control !== null ? run.control : {}
  ) as Record<string, unknown>;
  return {
    generate: control.generate === true,
    why: typeof control.why === "string" ? control.why : "",
  };
}

export const requestOf = (
  id: string,
  { prompt, tokens, temperature, topK, topP, seed }: Ask,
): ClientMessage => ({
  type: "request",
  request: "generate",
  id,
  prompts: [prompt],
  tokens,
  temperature,
  top_k: topK,
  top_p: topP,
  seed,
});

/** Parses a message. Returns undefined for unknown types. Throws if it is not a JSON object with a type. */
export function parseMessage(text: string): ServerMessage | undefined {
  const message: unknown = JSON.parse(text);
  if (typeof message !== "object" || message === null)
    throw new Error("a message is not a JSON object");
  const type = (message as { type?: unknown }).type;
  if (typeof type !== "string") throw new Error("a message has no type");
  if (!KNOWN.has(type)) return undefined;
  const list = LISTS[type];
  if (list && !Array.isArray((message as Record<string, unknown>)[list]))
    throw new Error(`${type}: missing list ${list}`);
  return message as ServerMessage;
}
