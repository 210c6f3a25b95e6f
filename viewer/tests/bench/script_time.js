// npm run bench: what the page costs. First paint, and script a frame while 4 panels get 10 frames a second each, median / 99th
// percentile: the page's own measure (reading, tables, drawing, Vue), and by the browser's trace the same by the clock and as CPU time,
// which does not count what others did on the core. The CPU time a step is for 4 panels' frames. What comes in the first two
// seconds is left out.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { loopOf } from "../browser/chromium.js";
import { startMock } from "../mock_server/server.js";
import { scriptOfFrames, spread, traced } from "./trace.js";

const PAGE =
  process.env.MEGASCOPE_VIEWER_PAGE ??
  fileURLToPath(new URL("../../dist/index.html", import.meta.url));
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const SECONDS = 10;
const CASES = [
  { name: "run, 4 ranks", hash: "#view=run", model: {} },
  { name: "ranks, 64 ranks, 900 steps", hash: "#view=ranks&steps=last900", model: { ranks: 64 } },
  {
    name: "tensors, 4 × 4 layers of 256 × 96",
    hash: "#view=tensors",
    model: { length: 256, hidden: 192 },
  },
  {
    name: "generate, behind 600 tokens, 256 × 256",
    hash: "#view=generate&tokens=2000",
    model: { control: { generate: true }, window: 256 },
    tokens: 600,
  },
  {
    name: "tensors, 4 × 1 layer of 4096 × 96",
    hash: "#view=tensors&layers=0-0",
    model: { length: 4096, hidden: 192 },
  },
];

/** Begins a text and makes so many of its tokens. */
async function generate(page, mock, tokens) {
  await page.fill("[data-prompt]", "The GNU Lesser General Public License ".repeat(2));
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-phase=waiting]");
  mock.step(1);
  for (let i = 0; i < tokens; i += 50) {
    mock.step(50);
    await page.waitForTimeout(100);
  }
}

async function measure(browser, { name, hash, model, tokens = 0 }) {
  const mock = await startMock({ page: PAGE, isStill: true, ...model });
  mock.step(1000);
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  await page.goto(mock.url + hash);
  await page.waitForSelector("[data-connection=connected]");
  await page.waitForTimeout(1500);
  const paint = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
  );
  if (tokens) await generate(page, mock, tokens);
  mock.run(10);
  await page.waitForTimeout(2000);
  await (await loopOf(page)).evaluate((loop) => loop.forgetCost());
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" }); // the CPU time of the page's thread, without other processes
  const now = async () =>
    Object.fromEntries(
      (await session.send("Performance.getMetrics")).metrics.map(({ name: key, value }) => [
        key,
        value,
      ]),
    );
  const [before, stepsBefore] = [await now(), Number(await page.innerText("[data-last-step]"))];
  const frames = scriptOfFrames(
    await traced(browser, page, () => page.waitForTimeout(SECONDS * 1000)),
  );
  const [after, stepsAfter] = [await now(), Number(await page.innerText("[data-last-step]"))];
  const steps = stepsAfter - stepsBefore;
  const own = await page
    .locator(".page")
    .evaluate(
      ({ dataset }) =>
        `${Number(dataset.scriptMedian).toFixed(1)} / ${Number(dataset.scriptP99).toFixed(1)}`,
    );
  await page.close();
  await mock.close();
  const a_step = (key) => ((after[key] - before[key]) * 1000) / steps;
  return {
    case: name,
    "first paint, ms": Math.round(paint),
    "steps/s": Number((steps / SECONDS).toFixed(1)),
    "frames/s": Number((frames.length / SECONDS).toFixed(1)),
    "script a frame, ms: own": own,
    "trace's clock": spread(frames.map(({ clock }) => clock)),
    CPU: spread(frames.map(({ cpu }) => cpu)),
    "CPU a step, ms: script": Number(a_step("ScriptDuration").toFixed(1)),
    thread: Number(a_step("TaskDuration").toFixed(1)),
  };
}

for (const path of [PAGE, executablePath]) {
  if (!existsSync(path)) {
    console.error(`${path} is not there: nothing was measured.`);
    process.exit(1);
  }
}
const asRoot = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath, args: [...asRoot, "--disable-gpu"] });
const rows = [];
for (const one of CASES) rows.push(await measure(browser, one));
await browser.close();
console.table(rows);
