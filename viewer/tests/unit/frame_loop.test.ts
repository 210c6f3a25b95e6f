import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FrameLoop } from "../../src/draw/frame_loop";

let nowMs = 0;
let asked: (() => void)[] = [];
let painted: string[] = [];
let drawnAt: string[] = []; // what was painted when everything was

/** A screen refresh, with the microtasks behind it. Returns what it painted. */
async function refresh(): Promise<string> {
  painted = [];
  for (const draw of asked.splice(0)) draw();
  await new Promise((resolve) => setImmediate(resolve));
  return painted.join("");
}
const made = (): FrameLoop => new FrameLoop(() => drawnAt.push(painted.join("")));
/** A painter that takes so long, and what it does besides. */
const painter =
  (name: string, ms: number, besides = () => {}) =>
  (): void => {
    painted.push(name);
    nowMs += ms;
    besides();
  };
/** Painters of a topic each, called as it is, which have all been painted. */
async function loopOf(painters: Record<string, number>): Promise<FrameLoop> {
  const loop = made();
  for (const [name, ms] of Object.entries(painters)) loop.add([name], painter(name, ms));
  while (asked.length) await refresh();
  return loop;
}
const invalidate = (loop: FrameLoop, topics: string): void =>
  [...topics].forEach((topic) => loop.invalidate(topic));

beforeEach(() => {
  [nowMs, asked, painted, drawnAt] = [0, [], [], []];
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => asked.push(draw));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("a screen refresh", () => {
  it("paints what has changed until 4 ms are spent; the rest comes with the next ones, who waits longest first", async () => {
    const loop = await loopOf({ a: 1, b: 2, c: 2, d: 1, e: 9 });
    invalidate(loop, "ecbad");
    expect([await refresh(), await refresh(), await refresh(), await refresh()]).toEqual([
      "e",
      "cb",
      "ad",
      "",
    ]);
  });
  it("keeps the place of what has news again while it waits", async () => {
    const loop = await loopOf({ a: 5, b: 5, c: 5 });
    invalidate(loop, "abc");
    const order = [await refresh()];
    for (const topics of ["ac", "ba", "cb", "", ""]) {
      invalidate(loop, topics);
      order.push(await refresh());
    }
    expect(order).toEqual(["a", "b", "c", "a", "b", "c"]);
  });
  it("counts what reading took since the one before, and paints one at least", async () => {
    const loop = await loopOf({ a: 1, b: 1, c: 1 });
    loop.invalidate("a", 2);
    loop.invalidate("b", 3);
    loop.invalidate("c");
    expect([await refresh(), await refresh()]).toEqual(["a", "bc"]);
  });
  it("counts what painters leave to microtasks", async () => {
    const loop = made();
    for (const name of ["a", "b"])
      loop.add(
        [name],
        painter(name, 0, () => void Promise.resolve().then(() => (nowMs += 5))),
      );
    expect([await refresh(), await refresh()]).toEqual(["a", "b"]);
  });
  it("paints behind the others what painting found is to be painted, while there is time", async () => {
    const loop = made();
    loop.add(
      ["a"],
      painter("a", 1, () => invalidate(loop, "cb")),
    );
    for (const name of ["b", "c"]) loop.add([name], painter(name, 1));
    while (asked.length) await refresh();
    invalidate(loop, "ac");
    expect([await refresh(), await refresh()]).toEqual(["acb", ""]);
  });
  it("paints nothing twice, so that those who ask for each other end", async () => {
    const loop = made();
    let rounds = 0;
    const other = { a: "b", b: "a" };
    for (const name of ["a", "b"] as const)
      loop.add(
        [name],
        painter(name, 0.1, () => rounds++ < 6 && invalidate(loop, other[name])),
      );
    const order: string[] = [];
    while (asked.length) order.push(await refresh());
    expect(order).toEqual(["ab", "ab", "ab", "a"]);
  });
  it("goes on behind a painter that fails", async () => {
    const loop = made();
    loop.add(["a"], () => {
      throw new Error("a panel without a canvas");
    });
    loop.add(["b"], painter("b", 1));
    painted = [];
    expect(asked[0]).toThrow("a panel without a canvas");
    asked = [];
    await new Promise((resolve) => setImmediate(resolve));
    expect([painted, loop.isBehind()]).toEqual([["b"], false]);
  });
  it("does not paint for those who stopped", async () => {
    const loop = made();
    const [first, second] = ["a", "b"].map((name) => loop.add([name], painter(name, 5)));
    second.stop();
    expect([await refresh(), await refresh()]).toEqual(["a", ""]);
    first.now();
    expect(await refresh()).toBe("a");
  });
});

describe("that everything is drawn", () => {
  it("is told once, after the last of what has come is painted", async () => {
    const loop = await loopOf({ a: 3, b: 3, c: 3 });
    drawnAt = [];
    invalidate(loop, "abc");
    expect([await refresh(), drawnAt.length]).toEqual(["ab", 0]);
    loop.invalidate("a");
    expect([await refresh(), drawnAt.length]).toEqual(["ca", 1]);
    expect([await refresh(), drawnAt.length]).toEqual(["", 1]);
  });
  it("reports news that no painter shows, and not what the reader did", async () => {
    const loop = await loopOf({ a: 1 });
    const { now } = loop.add(["b"], painter("b", 1));
    await refresh();
    drawnAt = [];
    now();
    await refresh();
    expect(drawnAt).toEqual([]);
    loop.invalidate("no painter's");
    await refresh();
    expect(drawnAt).toEqual([""]);
  });
  it("waits while paused, though what the reader does is painted", async () => {
    const loop = await loopOf({ a: 3, b: 3 });
    drawnAt = [];
    invalidate(loop, "ab");
    loop.pause(true);
    expect([await refresh(), await refresh(), drawnAt.length]).toEqual(["ab", "", 0]);
    loop.pause(false);
    expect([await refresh(), drawnAt.length]).toEqual(["", 1]);
  });
});

describe("the cost", () => {
  it("is script of each refresh: its painting and the reading before it", async () => {
    const loop = await loopOf({ a: 3, b: 2, c: 6 });
    loop.forgetCost();
    loop.invalidate("a", 0.5);
    invalidate(loop, "bc");
    while (asked.length) await refresh();
    expect(loop.cost()).toEqual({ median: 6, p99: 6, frames: 2 });
    for (let i = 0; i < 198; i++) {
      loop.invalidate("b");
      await refresh();
    }
    expect(loop.cost()).toEqual({ median: 2, p99: 5.5, frames: 200 });
    loop.invalidate("b");
    await refresh();
    expect(loop.cost()).toEqual({ median: 2, p99: 2, frames: 200 }); // of the last 200
  });
});
