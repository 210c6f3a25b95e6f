import { describe, expect, it } from "vitest";
import type { TensorFrame } from "../../src/protocol/frame";
import { controlOf, requestOf, type ServerMessage } from "../../src/protocol/messages";
import { readReply } from "../../src/protocol/replies";
import { logit, probability, visible } from "../../src/scale/visible";
import { AttentionViews, attentionOf, lengthOf } from "../../src/store/attention_views";
import { entryShown, Generation } from "../../src/store/generation";
import { DEFAULTS } from "../../src/store/url_state";
import { attentionNames, captureRequestsFor } from "../../src/store/capture_requests";

type ReplyMessage = Extract<ServerMessage, { type: "reply" }>;
const reply = (kind: string, fields: object = {}, id: unknown = "me-1"): ReplyMessage => ({
  type: "reply",
  reply: kind,
  id,
  ...fields,
});
const token = (id: number, more: object = {}) => ({ id, token: String.fromCharCode(id), ...more });
const start = reply("start", { prompts: [[token(72), token(105)]], layers: 4 });
const made = (id: number) =>
  reply("token", {
    sampled: [token(id, { logit: 0.5, probability: 0.25 })],
    top: [[token(98, { logit: 1, probability: 0.75 }), { id: -1 }]],
  });
const ASK = { prompt: "Hi", tokens: 3, temperature: 0.5, topK: 4, topP: 0.9, seed: 7 };

describe("an answer of the program", () => {
  it("is read of the first prompt; candidates that lack are left out", () => {
    expect(readReply(start)).toEqual({
      kind: "start",
      prompt: [
        { id: 72, text: "H" },
        { id: 105, text: "i" },
      ],
      layers: 4,
    });
    expect(readReply(made(97))).toEqual({
      kind: "token",
      sampled: { id: 97, text: "a", logit: 0.5, probability: 0.25 },
      top: [{ id: 98, text: "b", logit: 1, probability: 0.75 }],
      step: NaN,
    });
    expect(readReply({ ...made(97), step: 12 })).toMatchObject({ step: 12 });
    expect(readReply(reply("finish", { text: ["Hia"] }))).toEqual({ kind: "finish", text: "Hia" });
    expect(readReply(reply("later"))).toBeUndefined();
  });
  it("has at most 20 candidates, and what it does not tell is not known", () => {
    const many = readReply(
      reply("token", {
        sampled: [{ id: 1 }],
        top: [Array.from({ length: 50 }, (_, id) => ({ id }))],
      }),
    );
    expect(many?.kind === "token" && [many.top.length, many.sampled]).toEqual([
      20,
      { id: 1, text: "", probability: NaN, logit: NaN },
    ]);
  });
  it.each([
    ["start", {}],
    ["start", { prompts: [] }],
    ["start", { prompts: "x" }],
    ["start", { prompts: [3] }],
    ["start", { prompts: [[3]] }],
    ["token", {}],
    ["token", { sampled: [] }],
    ["token", { sampled: [null] }],
    ["token", { sampled: [{}], top: [3] }],
    ["token", { sampled: [{}], top: 3 }],
  ])("that is not as the protocol has it is told: %s %j", (kind, fields) =>
    expect(() => readReply(reply(kind, fields))).toThrow(/is/),
  );
});

describe("what the page asked for", () => {
  it("is put in the protocol's words", () => {
    expect(requestOf("x", ASK)).toEqual({
      type: "request",
      request: "generate",
      id: "x",
      prompts: ["Hi"],
      tokens: 3,
      temperature: 0.5,
      top_k: 4,
      top_p: 0.9,
      seed: 7,
    });
    expect(controlOf({ control: { generate: true } })).toEqual({ generate: true, why: "" });
    expect(controlOf({ control: { generate: false, why: "No." } })).toEqual({
      generate: false,
      why: "No.",
    });
    for (const run of [{}, { control: null }, { control: 3 }, { control: { generate: "yes" } }])
      expect(controlOf(run).generate).toBe(false);
  });
  it("waits, runs, and is finished", () => {
    const generation = new Generation("me");
    const { state, entries } = generation;
    expect(generation.begin(ASK)).toBe("me-1");
    expect([state.phase, generation.wantsViews()]).toEqual(["asked", true]);
    generation.receive(reply("waiting", { before: 2 }));
    expect([state.phase, state.before]).toEqual(["waiting", 2]);
    generation.receive(start);
    expect(generation.receive(made(97))).toBe(false);
    expect([state.phase, state.promptCount, state.count, state.layers]).toEqual([
      "running",
      2,
      3,
      4,
    ]);
    expect(entries.map(({ text, chosen }) => [text, chosen?.probability])).toEqual([
      ["H", undefined],
      ["i", undefined],
      ["a", 0.25],
    ]);
    expect(generation.receive(reply("finish", { text: ["Hia"] }))).toBe(true);
    expect([state.phase, generation.isUnderWay(), generation.wantsViews()]).toEqual([
      "finished",
      false,
      true,
    ]);
    generation.receive(made(97));
    expect(state.count).toBe(3);
    generation.begin(ASK);
    expect([state.phase, state.count, entries.length, state.number]).toEqual(["asked", 0, 0, 2]);
  });
  it("ignores answers to others, or to what it asked before", () => {
    const generation = new Generation("me");
    generation.begin(ASK);
    generation.receive({ ...start, id: "you-1" });
    generation.begin(ASK);
    generation.receive(start);
    generation.receive({ ...reply("error", { message: "no" }), id: 1 });
    expect([generation.state.phase, generation.state.count]).toEqual(["asked", 0]);
  });
  it("fails with what is said of it, keeping what came", () => {
    const generation = new Generation("me");
    const { state } = generation;
    generation.begin(ASK);
    generation.noticed({ type: "error", text: "`tokens` is to be less." }, ["attention-0"]);
    expect([state.phase, state.problem]).toEqual(["failed", "`tokens` is to be less."]);
    generation.begin(ASK);
    generation.receive({ ...start, id: "me-2" });
    generation.noticed({ type: "error", text: "of something else" }, ["attention-0"]);
    generation.noticed({ type: "notice", panel: "attention-0", text: "too large" }, [
      "attention-0",
    ]);
    expect([state.phase, state.notice]).toEqual(["running", "too large"]);
    expect(generation.receive({ ...reply("token"), id: "me-2" })).toBe(true);
    expect([state.phase, state.problem, state.count]).toEqual([
      "failed",
      "The program's answer is malformed: sampled is not a list with one entry for each prompt.",
      2,
    ]);
    generation.fail("again", "lost");
    expect(state.phase).toBe("failed");
  });
  it("shows the newest token, or the reader's as long as it is there", () =>
    expect(
      [
        [-1, 5],
        [2, 5],
        [7, 5],
        [-1, 0],
      ].map(([chosen, count]) => entryShown(chosen, count)),
    ).toEqual([4, 2, 4, -1]));
});

describe("attention", () => {
  const frame = (step: number, keys: number, more: Partial<TensorFrame> = {}): TensorFrame => {
    const shape = more.shape ?? [1, 2, keys, keys];
    return {
      kind: 4,
      panel: "attention-0",
      name: "scores",
      tensor: 3,
      layer: 0,
      step,
      shape,
      fullShape: shape,
      view: { type: "tile", tile_width: 1 },
      ...more,
    } as TensorFrame;
  };
  const running = (): Generation => {
    const generation = new Generation("me");
    generation.begin(ASK);
    generation.receive(start);
    return generation;
  };
  it("has the last queries of its keys, whichever of them are computed", () => {
    expect(attentionOf(frame(1, 5))).toMatchObject({
      heads: 2,
      queries: 5,
      columns: 5,
      keys: 5,
      keysAColumn: 1,
    });
    expect(attentionOf(frame(1, 5, { shape: [1, 2, 1, 5] }))).toMatchObject({
      queries: 1,
      keys: 5,
    });
    expect(
      attentionOf(
        frame(1, 5, {
          shape: [2, 10, 5],
          fullShape: [2, 10, 10],
          view: { type: "tile", tile_width: 2 },
        }),
      ),
    ).toMatchObject({ columns: 5, keys: 10, keysAColumn: 2 });
    for (const shape of [[], [5], [0, 5], [5, 0], [2, 7, 5]])
      expect(attentionOf(frame(1, 5, { shape })), String(shape)).toBeUndefined();
  });
  it("is taken while the text is made, of lengths that it has", () => {
    const views = new AttentionViews();
    const generation = new Generation("me");
    expect(views.add(frame(1, 2), generation)).toBe(false);
    generation.begin(ASK);
    expect(views.add(frame(1, 2), generation)).toBe(false);
    generation.receive(start);
    expect([1, 2, 4, 5].map((keys) => views.add(frame(1, keys), generation))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect([views.of(0)?.keys, views.of(1), views.layers()]).toEqual([4, undefined, [0]]);
  });
  it("that comes behind the end is taken if it goes on as before", () => {
    const generation = running();
    const views = new AttentionViews();
    expect(views.add(frame(10, 2), generation)).toBe(true);
    for (const id of [97, 98, 99]) generation.receive(made(id));
    generation.receive(reply("finish"));
    expect(
      [frame(12, 4), frame(14, 4), frame(20, 3)].map((one) => views.add(one, generation)),
    ).toEqual([true, false, false]);
    views.clear();
    expect([frame(20, 3), frame(20, 4)].map((one) => views.add(one, generation))).toEqual([
      false,
      true,
    ]);
  });
  it("is of the text up to the token of its step, where steps are told: a model may look back less far", () => {
    const generation = running();
    const views = new AttentionViews();
    generation.receive({ ...made(97), step: 20 });
    expect(
      [frame(19, 1), frame(20, 2), frame(21, 2), frame(22, 5), frame(23, 2)].map((one) =>
        views.add(one, generation),
      ),
    ).toEqual([false, true, true, false, false]);
    expect(lengthOf(views.of(0)!, generation)).toBe(3);
    for (const step of [21, 22]) generation.receive({ ...made(97), step });
    generation.receive(reply("finish"));
    expect([
      views.add(frame(30, 2), generation),
      views.add(frame(22, 2), generation),
      lengthOf(views.of(0)!, generation),
    ]).toEqual([false, true, 4]);
    generation.begin(ASK);
    expect(generation.lengthLessStep).toBeNaN();
  });
  it("of two names is that of the first", () => {
    const generation = running();
    const views = new AttentionViews();
    views.add(frame(1, 2, { panel: "attention-1", name: "other" }), generation);
    views.add(frame(1, 2), generation);
    expect(views.add(frame(2, 3, { panel: "attention-1", name: "other" }), generation)).toBe(false);
    expect(views.add(frame(2, 3, { tensor: 9 }), generation)).toBe(false);
    expect(views.of(0)?.frame.name).toBe("scores");
  });
  it("is asked for while something is made and looked at, by the names that are there", () => {
    const panels = (view: "generate" | "run", isGenerating: boolean) =>
      [...captureRequestsFor({ ...DEFAULTS, view }, [], isGenerating).keys()].filter((panel) =>
        panel.startsWith("attention"),
      );
    expect([panels("generate", true), panels("generate", false), panels("run", true)]).toEqual([
      ["attention-0", "attention-1"],
      [],
      [],
    ]);
    const there = [
      { id: 1, name: "attention.scores", kind: "actv_out", layer: 0, shape: [], dtype: "float32" },
    ];
    expect(attentionNames(DEFAULTS, there)).toEqual(["*scores*"]);
    expect(attentionNames(DEFAULTS, [...there, { ...there[0], name: "probabilities" }])).toEqual([
      "*probabilities*",
    ]);
    expect(attentionNames({ ...DEFAULTS, attention: "mine" }, there)).toEqual(["mine"]);
    expect([
      ...captureRequestsFor(
        { ...DEFAULTS, view: "generate", attention: "mine" },
        there,
        true,
      ).keys(),
    ]).toContain("attention-own");
    expect(
      captureRequestsFor({ ...DEFAULTS, view: "generate", layer: 2 }, there, true).get(
        "attention-1",
      ),
    ).toMatchObject({ name: "*scores*", layers: [2, 2], view: { type: "tile", tiles: 4096 } });
  });
});

describe("a token", () => {
  it.each([
    [32, " ", "␣"],
    [257, " the", "␣the"],
    [10, "\n", "↵"],
    [9, "\t", "⇥"],
    [7, "\x07", "\\x07"],
    [0, "\0", "\\x00"],
    [195, "\ufffd", "‹195›"],
    [5, "", "‹5›"],
    [-1, "", "‹›"],
    [1, "\u200b", "\\u{200b}"],
    [1, "é漢", "é漢"],
    [1, "<b>", "<b>"],
  ])("%d %j is seen as %s", (id, text, seen) => expect(visible({ id, text })).toBe(seen));
  it("has a probability and a logit in lists", () => {
    expect([1, 0.25, 0.00105, 0.000012, 0, NaN].map(probability)).toEqual([
      "1.0000",
      "0.2500",
      "0.0010",
      "1.2e−5",
      "0.0000",
      "–",
    ]);
    expect([-1.234, 12, NaN, -Infinity].map(logit)).toEqual(["−1.23", "12.00", "–", "−∞"]);
  });
});
