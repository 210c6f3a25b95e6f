import { expect, it } from "vitest";
import { scriptOfFrames, spread } from "../bench/trace.js";

const thread = (pid: number, name: string) => ({
  ph: "M",
  name: "thread_name",
  pid,
  tid: 1,
  args: { name },
});
/** ts, dur: ms by the clock; tdur: ms of CPU time. */
const event = (name: string, ts: number, dur: number, tdur: number, pid = 7) => ({
  ph: "X",
  name,
  pid,
  tid: 1,
  ts: ts * 1000,
  dur: dur * 1000,
  tdur: tdur * 1000,
});

it("sums the outermost pieces of script from one frame's drawing to the next one's, by the clock and of CPU time", () => {
  const events = [
    thread(7, "CrRendererMain"),
    thread(8, "CrRendererMain"),
    thread(9, "Compositor"),
    event("FunctionCall", 1, 5, 5), // before the first frame
    event("FunctionCall", 10.1, 3, 2),
    event("FireAnimationFrame", 10, 4, 2.5), // one in the other, in the order of their ends
    event("v8.callFunction", 15, 2, 1),
    event("FunctionCall", 15, 2, 1), // began together
    event("Layout", 18, 9, 9),
    event("FireAnimationFrame", 30, 1, 0.5),
    event("TimerFire", 40, 6, 4),
    event("FunctionCall", 41, 1, 1),
    event("EvaluateScript", 44, 1, 1),
    event("FireAnimationFrame", 50, 9, 9), // may be cut
    event("FireAnimationFrame", 11, 8, 8, 8),
    event("FunctionCall", 20, 8, 8, 9), // of other pages, of other threads
  ];
  expect(scriptOfFrames(events)).toEqual([
    { clock: 6, cpu: 3.5 },
    { clock: 7, cpu: 4.5 },
  ]);
});

it("tells the median and what 99 of 100 do not exceed", () => {
  expect(spread([3, 1, 2])).toBe("2.0 / 3.0");
  expect(spread(Array.from({ length: 200 }, (_, i) => i))).toBe("100.0 / 198.0");
  expect(spread([])).toBe("NaN / NaN");
});
