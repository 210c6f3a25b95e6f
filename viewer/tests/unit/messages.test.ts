import { describe, expect, it } from "vitest";
import { delayMs, LONGEST_DELAY_MS } from "../../src/connection/backoff";
import { serverUrl } from "../../src/connection/connection";
import { Credits } from "../../src/connection/credits";
import { parseMessage } from "../../src/protocol/messages";
import { familyOf, matches } from "../../src/protocol/pattern";

describe("a text message", () => {
  it("of a known type is read, of another ignored", () => {
    expect(parseMessage('{"type": "end", "reason": "finished", "steps": 3}')).toEqual({
      type: "end",
      reason: "finished",
      steps: 3,
    });
    expect(parseMessage('{"type": "verdict", "text": ""}')).toEqual({ type: "verdict", text: "" });
    expect(parseMessage('{"type": "later"}')).toBeUndefined();
  });
  it.each([
    "",
    "[]",
    "null",
    "3",
    "{}",
    '{"type": 1}',
    '{"type": "tensors"}',
    '{"type": "counters", "counters": {}}',
  ])("is refused: %s", (text) => {
    expect(() => parseMessage(text)).toThrow();
  });
});

describe("a pattern", () => {
  it.each([
    ["*", "", true],
    ["*", "loss", true],
    ["loss", "loss", true],
    ["loss", "losses", false],
    ["l*s", "loss", true],
    ["*norm*", "gradient_norm", true],
    ["*a*b", "xaybzb", true],
    ["*a*b", "xayb!", false],
    ["a.c", "abc", false],
    ["", "", true],
    ["", "a", false],
    ["**", "a", true],
    ["layers.*.qkv", "layers.12.qkv", true],
  ])("%s of %s: %s", (pattern, name, is) => expect(matches(pattern, name)).toBe(is));
  it("does not take long on what backtracks", () =>
    expect(matches("*a".repeat(30) + "b", "a".repeat(2000))).toBe(false));
  it("stands for a tensor in all layers", () => {
    expect(familyOf("layers.3.qkv.weight", 3)).toBe("layers.*.qkv.weight");
    expect(familyOf("mlp1", 1)).toBe("mlp1");
    expect(familyOf("block.3.expert.3", 3)).toBe("block.*.expert.*");
    expect(familyOf("embedding.1", -1)).toBe("embedding.1");
  });
});

describe("trying again", () => {
  it("waits longer each time, up to a bound", () => {
    const delays = [0, 1, 2, 3, 20, 2000].map((attempt) => delayMs(attempt, 0));
    expect(delays).toEqual([500, 1000, 2000, 4000, LONGEST_DELAY_MS, LONGEST_DELAY_MS]);
    expect(delayMs(1, 0.999)).toBeGreaterThanOrEqual(750);
  });
  it("asks the page's server with the page's token", () => {
    const page = new URL("http://localhost:8787/?token=a%2Bb&x=1#view=ranks");
    expect(serverUrl("/ws/v1", page)).toBe("http://localhost:8787/ws/v1?token=a%2Bb");
    expect(serverUrl("/api/v1/run", new URL("http://localhost:1/"))).toBe(
      "http://localhost:1/api/v1/run",
    );
  });
});

describe("credits", () => {
  it("are due for frames that were drawn, not for those that came", () => {
    const credits = new Credits();
    credits.arrived("a");
    credits.arrived("a");
    expect(credits.take()).toEqual([]);
    credits.allDrawn();
    credits.arrived("a");
    credits.arrived("b");
    expect(credits.take()).toEqual([{ panel: "a", frames: 2 }]);
    credits.allDrawn();
    credits.forget("b");
    expect(credits.take()).toEqual([{ panel: "a", frames: 1 }]);
  });
  it("never exceed what one message may say", () => {
    const credits = new Credits();
    for (let i = 0; i < 100; i++) credits.arrived("a");
    credits.allDrawn();
    expect(credits.take()).toEqual([{ panel: "a", frames: 64 }]);
  });
});
