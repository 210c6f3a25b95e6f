import type { CaptureRequest, Tensor, TileView } from "../protocol/messages";
import { familyOf, matches } from "../protocol/pattern";
import { MAX_LAYERS, type UrlState } from "./url_state";

// The capture requests that the user's current view needs, one for each panel. Data that is not visible is not requested, and so not computed.

export const STRIP_PANELS = ["strip-0", "strip-1", "strip-2", "strip-3"];
const ATTENTION_NAMES = ["*probabilities*", "*scores*"];
const OWN_ATTENTION = "attention-own"; // for the name that the user entered
export const ATTENTION_PANELS = ["attention-0", "attention-1", OWN_ATTENTION];
const ATTENTION_KIND = "actv_out";
const FIRST_FAMILY = "*hidden*";

export interface Family {
  pattern: string;
  kind: string;
  layers: number;
}

/** Tensors of one name over layers, by kind and name. */
export function familiesOf(tensors: Iterable<Tensor>): Family[] {
  const families = new Map<string, Family>();
  for (const { name, kind, layer } of tensors) {
    const pattern = familyOf(name, layer);
    const key = `${kind} ${pattern}`;
    const family = families.get(key) ?? { pattern, kind, layers: 0 };
    family.layers++;
    families.set(key, family);
  }
  return [...families.values()].sort((a, b) => (a.kind + a.pattern < b.kind + b.pattern ? -1 : 1));
}

/** The pattern of the statistics' heatmap: the user's, or the first known one. */
export function familyShown(state: UrlState, tensors: Tensor[]): string {
  if (state.family) return state.family;
  const ofKind = tensors.filter(({ kind }) => kind === state.kind);
  if (ofKind.length === 0 || ofKind.some(({ name }) => matches(FIRST_FAMILY, name)))
    return FIRST_FAMILY;
  const deep = ofKind.find(({ layer }) => layer >= 0) ?? ofKind[0];
  return familyOf(deep.name, deep.layer);
}

/** Alternative default names of the strips. */
const ALIASES: Record<string, string[]> = {
  "*qkv*": ["*query*", "*attention*"],
  "*mlp1*": ["*fc1*", "*h_to_4h*", "*up_proj*"],
  "*mlp2*": ["*fc2*", "*4h_to_h*", "*down_proj*"],
  "*hidden*": ["*output*"],
};

/** The patterns of the strips: the user's, or by default a known name. */
export function stripsShown(state: UrlState, tensors: Tensor[]): string[] {
  const names = tensors.filter(({ kind }) => kind === state.stripKind).map(({ name }) => name);
  const isThere = (pattern: string): boolean => names.some((name) => matches(pattern, name));
  return state.strips.map((pattern) =>
    isThere(pattern) ? pattern : (ALIASES[pattern]?.find(isThere) ?? pattern),
  );
}

export const layersShown = (state: UrlState): [number, number] =>
  state.layers ?? [0, MAX_LAYERS - 1];

/** A row of tiles for each token: the dimensions after the tokens are merged. */
function tileView(state: UrlState, pattern: string, tensors: Tensor[]): TileView {
  const known = tensors.find(
    ({ name, kind }) => kind === state.stripKind && matches(pattern, name),
  );
  const view: TileView = { type: "tile", tiles: state.tiles, method: state.method };
  return known && known.shape.length > 3 ? { ...view, keep: 2 } : view;
}

/** Names of attention tensors: the user's; else the known ones of the usual names; if none is known yet, all of these. */
export function attentionNames(state: UrlState, tensors: Tensor[]): string[] {
  if (state.attention) return [state.attention];
  const isThere = (pattern: string): boolean =>
    tensors.some(({ name, kind }) => kind === ATTENTION_KIND && matches(pattern, name));
  const there = ATTENTION_NAMES.find(isThere);
  return there ? [there] : ATTENTION_NAMES;
}

/** Queries × keys of each head, without reduction up to 4096 keys. */
function attentionRequest(name: string, layer: number): CaptureRequest {
  const view: TileView = { type: "tile", tiles: 4096, method: "max" };
  return {
    what: "tensor",
    name,
    kind: ATTENTION_KIND,
    layers: [layer, layer],
    micro_batch: 0,
    replica: 0,
    every: 1,
    view,
    encoding: "f16",
  };
}

/**
 * Panels and their capture requests. isGenerating: the current computation belongs to this page's request. hasIntervals: the application
 * annotates no steps, so MPI calls are shown.
 */
export function captureRequestsFor(
  state: UrlState,
  tensors: Tensor[],
  isGenerating = false,
  hasIntervals = false,
): Map<string, CaptureRequest> {
  const requests = new Map<string, CaptureRequest>([
    ["steps", { what: "steps" }],
    ["counters", { what: "counters", names: [...new Set(state.counters.filter(Boolean))] }],
  ]);
  if (hasIntervals && state.view === "run") requests.set("calls", { what: "calls" });
  if (state.view === "generate" && isGenerating) {
    for (const name of attentionNames(state, tensors)) {
      const panel = ATTENTION_PANELS[ATTENTION_NAMES.indexOf(name)] ?? OWN_ATTENTION; // the panel stays the same when it turns out that there is only one name
      requests.set(panel, attentionRequest(name, state.layer));
    }
  }
  if (state.view !== "tensors") return requests;
  requests.set("statistics", {
    what: "statistics",
    names: [familyShown(state, tensors)],
    kinds: [state.kind],
  });
  stripsShown(state, tensors).forEach((name, i) => {
    if (!name) return;
    requests.set(STRIP_PANELS[i], {
      what: "tensor",
      name,
      kind: state.stripKind,
      layers: layersShown(state),
      micro_batch: state.microBatch,
      replica: 0,
      every: 1,
      view: tileView(state, name, tensors),
      encoding: "f16",
    });
  });
  return requests;
}

const ATTENTION_CREDITS = 6; // tokens arrive faster than credits; with these the last token's view is sent

/** More credits than the default, because each step sends a frame for each layer. */
export function extraCredits(panel: string, request: CaptureRequest): number {
  if (request.what !== "tensor") return 0;
  if (ATTENTION_PANELS.includes(panel)) return ATTENTION_CREDITS;
  const layers = request.layers ? request.layers[1] - request.layers[0] + 1 : MAX_LAYERS;
  return Math.min(62, layers);
}
