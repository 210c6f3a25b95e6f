// Script a frame by the browser's trace. The page's own clock counts time in which others had its core; a trace tells CPU time too.

const CATEGORIES = ["-*", "devtools.timeline", "v8"];
const FRAME = "FireAnimationFrame";
/** What runs script; they lie in each other. */
const SCRIPT = new Set([
  FRAME,
  "FunctionCall",
  "v8.callFunction",
  "EvaluateScript",
  "RunMicrotasks",
  "TimerFire",
]);

/** Does what is to be traced. Returns the trace's events. */
export async function traced(browser, page, action) {
  await browser.startTracing(page, { categories: CATEGORIES });
  await action();
  return JSON.parse((await browser.stopTracing()).toString("utf8")).traceEvents;
}

/** Whole events of the thread that draws the page: of the renderers' main threads the one with most frames. */
function pageEvents(events) {
  const mains = new Map();
  for (const { ph, name, args, pid, tid } of events) {
    if (ph === "M" && name === "thread_name" && args.name === "CrRendererMain")
      mains.set(`${pid} ${tid}`, []);
  }
  for (const event of events)
    if (event.ph === "X" && SCRIPT.has(event.name))
      mains.get(`${event.pid} ${event.tid}`)?.push(event);
  const frames = (list) => list.filter(({ name }) => name === FRAME).length;
  return [...mains.values()].sort((a, b) => frames(b) - frames(a))[0] ?? [];
}

/**
 * Of each frame period, from one frame's drawing to the next one's, how long script ran, in ms: by the clock, and as CPU time of the
 * thread. What begins before the first drawing is left out, and the last period, which may be cut.
 */
export function scriptOfFrames(events) {
  const ordered = pageEvents(events).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  const frames = [];
  let end = -Infinity; // of the outermost one
  for (const { name, ts, dur, tdur = 0 } of ordered) {
    if (ts < end) continue;
    end = ts + dur;
    if (name === FRAME) frames.push({ clock: 0, cpu: 0 });
    const frame = frames.at(-1);
    if (!frame) continue;
    frame.clock += dur / 1000;
    frame.cpu += tdur / 1000;
  }
  return frames.slice(0, -1);
}

/** "1.2 / 3.4": half and 99 of 100 are no larger. */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) =>
    sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : NaN;
  return `${at(0.5).toFixed(1)} / ${at(0.99).toFixed(1)}`;
}
