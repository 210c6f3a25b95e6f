import { PALETTES, type Palette } from "../scale/colours";
import { SCALE_KINDS, type ScaleKind } from "../scale/value_scale";

// The user's choices as stored in the fragment (#) of the page's address. The token precedes it and is not changed.

export const VIEWS = ["run", "ranks", "tensors", "generate"] as const;
export type ViewName = (typeof VIEWS)[number];
export const THEMES = ["auto", "dark", "light"] as const;
export type Theme = (typeof THEMES)[number];

/** The newest `last` steps, or steps from … to. */
export type StepRange = { last: number } | { from: number; to: number };

export interface UrlState {
  view: ViewName;
  steps: StepRange;
  theme: Theme;
  palette: Palette;
  counters: string[]; // patterns, one for each chart
  counterScale: "linear" | "log"; // of the counters' axes
  smooth: number; // number of values averaged for each point of a counter; 1: no smoothing
  rank: number; // selected in the ranks view, -1: none
  step: number; // selected step, -1: none
  family: string; // pattern of the tensors in the statistics view; "": the first one
  kind: string;
  column: string;
  scale: ScaleKind; // of statistics
  strips: string[]; // tensor patterns, one for each column of strips
  stripKind: string;
  stripScale: ScaleKind;
  layers: [number, number] | null; // null: the first MAX_LAYERS
  tiles: number;
  method: string;
  microBatch: number;
  attention: string; // pattern of attention tensors; "": the usual names
  attentionScale: ScaleKind;
  layer: number;
  head: number;
  token: number; // selected token, by position in the text; -1: the newest
  prompt: string;
  tokens: number; // to generate
  temperature: number;
  topK: number;
  topP: number;
  seed: number;
}

export const DEFAULTS: UrlState = {
  view: "run",
  steps: { last: 200 },
  theme: "auto",
  palette: "viridis",
  counters: ["loss", "grad*norm"],
  counterScale: "linear",
  smooth: 1,
  rank: -1,
  step: -1,
  family: "",
  kind: "actv_out",
  column: "norm",
  scale: "linear",
  strips: ["*qkv*", "*mlp1*", "*mlp2*", "*hidden*"],
  stripKind: "actv_out",
  stripScale: "linear",
  layers: null,
  tiles: 96,
  method: "mean",
  microBatch: 0,
  attention: "",
  attentionScale: "linear",
  layer: 0,
  head: 0,
  token: -1,
  prompt: "",
  tokens: 32,
  temperature: 1,
  topK: 0,
  topP: 0,
  seed: 0,
};
export const MAX_LAYERS = 8;
export const MAX_PROMPT = 2000; // characters
/** Limits of the server, and of the number of tokens that the page shows. */
export const BOUNDS = {
  tokens: [1, 4096],
  temperature: [0, 100],
  topK: [0, 1000],
  topP: [0, 1],
  seed: [-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
} as const;

type Reader<T> = (text: string) => T | undefined;
type Writer<T> = (value: T) => string;
type Field<T> = { read: Reader<T>; write: Writer<T> };

const oneOf = <T extends string>(allowed: readonly T[]): Field<T> => ({
  read: (text) => allowed.find((one) => one === text),
  write: (value) => value,
});
const text = (most: number): Field<string> => ({
  read: (given) => given.slice(0, most),
  write: (value) => value,
});
const plain = text(200);
const whole = (least: number, most: number): Field<number> => ({
  read: (text) => {
    const value = Number(text);
    return /^-?\d{1,15}$/.test(text) && value >= least && value <= most ? value : undefined;
  },
  write: String,
});
const real = (least: number, most: number): Field<number> => ({
  read: (given) => {
    const value = Number(given);
    return /^\d{1,9}(\.\d{1,9})?$/.test(given) && value >= least && value <= most
      ? value
      : undefined;
  },
  write: String,
});
const list = (most: number): Field<string[]> => ({
  read: (text) => {
    const parts = text.split("|").map((part) => part.slice(0, 200));
    return parts.length <= most ? parts : undefined;
  },
  write: (value) => value.join("|"),
});
const span = (text: string): [number, number] | undefined => {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(text);
  return match && Number(match[1]) <= Number(match[2])
    ? [Number(match[1]), Number(match[2])]
    : undefined;
};

const FIELDS: { [K in keyof UrlState]: Field<UrlState[K]> } = {
  view: oneOf(VIEWS),
  steps: {
    read: (text) => {
      const range = span(text);
      if (range) return { from: range[0], to: range[1] };
      const last = /^last(\d{1,6})$/.exec(text);
      return last && Number(last[1]) >= 2 ? { last: Number(last[1]) } : undefined;
    },
    write: (range) => ("last" in range ? `last${range.last}` : `${range.from}-${range.to}`),
  },
  theme: oneOf(THEMES),
  palette: oneOf(PALETTES),
  counters: list(2),
  counterScale: oneOf(["linear", "log"]),
  smooth: whole(1, 1000),
  rank: whole(-1, 10_000_000),
  step: whole(-1, Number.MAX_SAFE_INTEGER),
  family: plain,
  kind: plain,
  column: plain,
  scale: oneOf(SCALE_KINDS),
  strips: list(4),
  stripKind: plain,
  stripScale: oneOf(SCALE_KINDS),
  layers: { read: span, write: (value) => (value ? `${value[0]}-${value[1]}` : "") },
  tiles: whole(1, 4096),
  method: plain,
  microBatch: whole(0, 1_000_000),
  attention: plain,
  attentionScale: oneOf(SCALE_KINDS),
  layer: whole(0, 1_000_000),
  head: whole(0, 1_000_000),
  token: whole(-1, 10_000_000),
  prompt: text(MAX_PROMPT),
  tokens: whole(...BOUNDS.tokens),
  temperature: real(...BOUNDS.temperature),
  topK: whole(...BOUNDS.topK),
  topP: real(...BOUNDS.topP),
  seed: whole(...BOUNDS.seed),
};
const NAMES = Object.keys(FIELDS) as (keyof UrlState)[];

/** Parses the fragment; invalid values are replaced by defaults. */
export function readUrl(hash: string): UrlState {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = structuredClone(DEFAULTS);
  const put = <K extends keyof UrlState>(name: K): void => {
    const text = given.get(name);
    const value = text === null ? undefined : FIELDS[name].read(text);
    if (value !== undefined) state[name] = value;
  };
  NAMES.forEach(put);
  return state;
}

/** The fragment for a state, without default values; "" if all are defaults. */
export function writeUrl(state: UrlState): string {
  const result = new URLSearchParams();
  const put = <K extends keyof UrlState>(name: K): void => {
    const text = FIELDS[name].write(state[name]);
    if (text !== FIELDS[name].write(DEFAULTS[name])) result.set(name, text);
  };
  NAMES.forEach(put);
  const text = result.toString();
  return text ? `#${text}` : "";
}
