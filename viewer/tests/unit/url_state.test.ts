import { describe, expect, it } from "vitest";
import type { Tensor } from "../../src/protocol/messages";
import { DEFAULTS, readUrl, writeUrl, type UrlState } from "../../src/store/url_state";
import {
  captureRequestsFor,
  extraCredits,
  familiesOf,
  familyShown,
  stripsShown,
} from "../../src/store/capture_requests";

describe("the address", () => {
  it("is empty for what is by default", () => {
    expect(writeUrl(DEFAULTS)).toBe("");
    expect(readUrl("")).toEqual(DEFAULTS);
  });
  it("brings back everything that was chosen", () => {
    const state: UrlState = {
      view: "tensors",
      steps: { from: 10, to: 90 },
      theme: "dark",
      palette: "cividis",
      counters: ["lo*", "a&b=#c"],
      counterScale: "log",
      smooth: 20,
      rank: 3,
      step: 77,
      family: "layers.*.qkv.weight",
      kind: "weight",
      column: "max",
      scale: "symlog",
      strips: ["*qkv*", "", "é", "*hidden*"],
      stripKind: "actv_in",
      stripScale: "log",
      layers: [2, 5],
      tiles: 32,
      method: "data.abs().mean(dim=-1)",
      microBatch: 1,
      attention: "*probs*",
      attentionScale: "log",
      layer: 3,
      head: 2,
      token: 9,
      prompt: "a&b=#\n é",
      tokens: 7,
      temperature: 0.25,
      topK: 20,
      topP: 0.9,
      seed: -5,
    };
    for (const key of Object.keys(DEFAULTS) as (keyof UrlState)[])
      expect(state[key], key).not.toEqual(DEFAULTS[key]);
    expect(readUrl(writeUrl(state))).toEqual(state);
  });
  it.each([
    "#view=other",
    "#steps=9-3",
    "#steps=last0",
    "#steps=-5-3",
    "#theme=red",
    "#rank=x",
    "#rank=1e9",
    "#layers=3",
    "#tiles=0",
    "#tiles=5000",
    "#scale=cubic",
    "#strips=a|b|c|d|e",
    "#nothing=1",
    "#%%%",
    "#step=99999999999999999999",
    "#tokens=0",
    "#tokens=5000",
    "#temperature=-1",
    "#temperature=1e9",
    "#topP=1.5",
    "#topK=0.5",
    "#seed=x",
    "#layer=-1",
    "#head=one",
    "#attentionScale=cubic",
  ])("that is not understood is as by default: %s", (hash) =>
    expect(readUrl(hash)).toEqual(DEFAULTS),
  );
  it("never holds the token", () =>
    expect(writeUrl({ ...DEFAULTS, view: "ranks" })).toBe("#view=ranks"));
});

describe("what is asked for", () => {
  const tensor = (id: number, name: string, layer: number, kind = "actv_out"): Tensor => ({
    id,
    name,
    layer,
    kind,
    shape: [1, 8, 16],
    dtype: "float32",
  });
  it("is only what the view shows", () => {
    expect([...captureRequestsFor(DEFAULTS, []).keys()]).toEqual(["steps", "counters"]);
    expect(
      [...captureRequestsFor(DEFAULTS, [], false, true).keys()],
      "of a program without steps",
    ).toEqual(["steps", "counters", "calls"]);
    const requests = captureRequestsFor(
      { ...DEFAULTS, view: "tensors", strips: ["*qkv*", "", "*mlp2*"] },
      [],
    );
    expect([...requests.keys()]).toEqual(["steps", "counters", "statistics", "strip-0", "strip-2"]);
    expect(requests.get("strip-2")).toEqual({
      what: "tensor",
      name: "*mlp2*",
      kind: "actv_out",
      layers: [0, 7],
      micro_batch: 0,
      replica: 0,
      every: 1,
      view: { type: "tile", tiles: 96, method: "mean" },
      encoding: "f16",
    });
  });
  it("is one family's statistics: the reader's, the hidden states, or the first there is", () => {
    const other = [
      tensor(0, "embedding", -1),
      tensor(1, "layers.0.field", 0),
      tensor(2, "layers.1.field", 1),
    ];
    expect(familyShown({ ...DEFAULTS, family: "x*" }, other)).toBe("x*");
    expect(familyShown(DEFAULTS, [])).toBe("*hidden*");
    expect(familyShown(DEFAULTS, other)).toBe("layers.*.field");
    expect(familyShown(DEFAULTS, [...other, tensor(3, "hidden", 0)])).toBe("*hidden*");
    expect(familiesOf(other)).toEqual([
      { pattern: "embedding", kind: "actv_out", layers: 1 },
      { pattern: "layers.*.field", kind: "actv_out", layers: 2 },
    ]);
  });
  it("has other names for the usual strips, where the usual ones are not there", () => {
    const tensors = [
      tensor(0, "attention/qkv", 0),
      tensor(1, "mlp/fc1", 0),
      tensor(2, "mlp/fc2", 0, "actv_in"),
    ];
    expect(stripsShown(DEFAULTS, tensors)).toEqual(["*qkv*", "*fc1*", "*mlp2*", "*hidden*"]);
    expect(stripsShown({ ...DEFAULTS, strips: ["x", ""] }, tensors)).toEqual(["x", ""]);
  });
  it("is a row of tiles a token, whichever dimensions follow the tokens", () => {
    const heads = { ...tensor(0, "qkv", 0), shape: [1, 8, 3, 16] };
    const viewOf = (tensors: Tensor[]) =>
      (
        captureRequestsFor({ ...DEFAULTS, view: "tensors" }, tensors).get("strip-0") as {
          view: object;
        }
      ).view;
    expect(viewOf([heads])).toEqual({ type: "tile", tiles: 96, method: "mean", keep: 2 });
    expect(viewOf([{ ...heads, shape: [1, 8, 16] }])).toEqual({
      type: "tile",
      tiles: 96,
      method: "mean",
    });
  });
  it("comes with credits for a whole step", () => {
    const requests = captureRequestsFor({ ...DEFAULTS, view: "tensors", layers: [2, 5] }, []);
    expect(extraCredits("strip-0", requests.get("strip-0")!)).toBe(4);
    expect(extraCredits("steps", requests.get("steps")!)).toBe(0);
  });
});
