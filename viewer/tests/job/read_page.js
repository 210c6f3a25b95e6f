// What the page shows of a running job: each view is looked at as a reader does, and what it says is printed as one JSON object.
// Prints "ready" once the browser runs, then reads the page's URL from its input.
//
//   node read_page.js [DIRECTORY]   DIRECTORY: a picture of the tensors goes there, live.png

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { cursorTo, drawn, launch, watchedPage } from "../browser/chromium.js";

const [, , pictures] = process.argv;
const LAYERS = 4;
const FIRST_STEPS = 24;
const PICTURED_STEPS = 60;

/** The table that an action saves, as rows of text. */
async function table(page, action) {
  const [file] = await Promise.all([page.waitForEvent("download"), action()]);
  return readFileSync(await file.path(), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split(","));
}
const chart = (page, name) =>
  table(page, () => page.click(`[data-chart="${name}"] [aria-label$="as a table"]`));
const heat = (page, name) => table(page, () => page.press(`[data-heat="${name}"] canvas`, "c"));
const hasColumns = (page, name, least) =>
  page.waitForFunction(
    ([heatName, count]) =>
      Number(document.querySelector(`[data-heat="${heatName}"]`)?.dataset.columns) >= count,
    [name, least],
  );

async function runView(page) {
  await page.waitForFunction(
    (step) => Number(document.querySelector("[data-last-step]")?.textContent) >= step,
    FIRST_STEPS,
  );
  const tables = {};
  for (const name of ["step-time", "counter-0", "counter-1"])
    tables[name] = await chart(page, name);
  return {
    ...tables,
    points: Number(await page.getAttribute('[data-chart="step-time"]', "data-points")),
  };
}

async function ranksView(page) {
  await page.click("[data-view=ranks]");
  await hasColumns(page, "compute", FIRST_STEPS);
  await cursorTo(page, "compute", 2, 3);
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-chosen] [data-value=step_ms]");
  const chosen = await page
    .locator("[data-chosen]")
    .evaluate((element) => ({
      title: element.querySelector("h2").textContent,
      ...Object.fromEntries(
        [...element.querySelectorAll("[data-value]")].map((cell) => [
          cell.dataset.value,
          cell.textContent,
        ]),
      ),
    }));
  await page.click("[data-pause]"); // both tables are of the same steps, once what came before is drawn
  await drawn(page);
  const tables = { compute: await heat(page, "compute"), mpi: await heat(page, "mpi") };
  await page.click("[data-pause]");
  return { chosen, ...tables };
}

/** The job goes on: a chart may move away from under the cursor before it has told anything. */
async function cursorUntilTold(page, chart, text) {
  for (const until = Date.now() + 30000; ; ) {
    await cursorTo(page, chart, 1, 0);
    if ((await page.innerText('[data-readout="strips"]')).includes(text)) return;
    if (Date.now() > until) throw new Error(`nothing with "${text}" is told at ${chart}`);
    await page.waitForTimeout(100);
  }
}

async function tensorsView(page) {
  await page.click("[data-view=tensors]");
  await page.waitForFunction(
    (count) => document.querySelectorAll("[data-strip] [data-layer]").length === count,
    4 * LAYERS,
  );
  await hasColumns(page, "statistics", pictures ? PICTURED_STEPS : FIRST_STEPS);
  if (pictures) await page.screenshot({ path: `${pictures}/live.png` });
  const statistics = await heat(page, "statistics");
  await page.selectOption("[data-method]", "norm");
  await page.waitForFunction(
    (count) => document.querySelectorAll("[data-strip='1'] [data-layer]").length === count,
    LAYERS,
  );
  const told = () => page.innerText('[data-readout="strips"]');
  for (let layer = 0; layer < LAYERS; layer++) {
    await cursorUntilTold(page, `strip-1-${layer}`, "norm of");
  }
  await page.click("[data-pause]");
  const strips = [];
  for (let layer = 0; layer < LAYERS; layer++) {
    await cursorTo(page, `strip-1-${layer}`, 1, 0);
    await drawn(page);
    strips.push({ told: await told(), cells: await heat(page, `strip-1-${layer}`) });
  }
  await page.click("[data-pause]");
  return { statistics, strips };
}

const browser = await launch();
console.log("ready");
const lines = createInterface({ input: process.stdin });
const { value: url } = await lines[Symbol.asyncIterator]().next();
const { page, problems } = await watchedPage(browser, new URL(url).origin);
await page.goto(url);
await page.waitForSelector("[data-connection=connected]");
const seen = {
  run: await runView(page),
  ranks: await ranksView(page),
  tensors: await tensorsView(page),
};
await page.waitForSelector("[data-connection=ended]", { timeout: 120000 });
seen.end = await page.innerText("[data-connection]");
await browser.close();
console.log(JSON.stringify({ ...seen, problems }));
lines.close();
