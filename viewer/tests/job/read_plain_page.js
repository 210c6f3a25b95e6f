// What the page shows of an unmodified MPI program, for tests/live_job/plain_page_test.py: reads the address from its input, and prints JSON. After
// the first reading it waits for the end of the job, however it ends. Argument: a directory for pictures, optional.

import { createInterface } from "node:readline";
import { cursorTo, drawn, launch, watchedPage } from "../browser/chromium.js";

const [pictures] = process.argv.slice(2);

const rowsOf = (page, table) =>
  page
    .locator(`[data-table=${table}] tr[data-function], [data-table=${table}] tr[data-rank]`)
    .evaluateAll((rows) => rows.map((row) => ({ ...row.dataset })));

async function picture(page, name) {
  if (!pictures) return;
  await page.screenshot({ path: `${pictures}/${name}-1280.png` });
  await page.setViewportSize({ width: 1920, height: 1080 });
  await drawn(page);
  await page.screenshot({ path: `${pictures}/${name}-1920.png` });
  await page.setViewportSize({ width: 1280, height: 720 });
  await drawn(page);
}

const browser = await launch();
console.log("ready");
const lines = createInterface({ input: process.stdin });
const input = lines[Symbol.asyncIterator]();
const { value: url } = await input.next();
const { page, problems } = await watchedPage(browser, new URL(url).origin);
await page.goto(url);
await page.waitForSelector("[data-table=functions] tr[data-function=MPI_Allreduce]", {
  timeout: 60000,
});
await page.waitForFunction(
  () => Number(document.querySelector("[data-last-step]").textContent) >= 3,
  null,
  { timeout: 60000 },
);
await drawn(page);
const seen = {
  functions: await rowsOf(page, "functions"),
  newest: await rowsOf(page, "newest"),
  ranks: await rowsOf(page, "ranks"),
};
await cursorTo(page, "messages", 0, 1);
await drawn(page);
seen.told = await page.innerText("[data-readout=messages]");
seen.facts = {
  elapsed: await page.innerText("[data-elapsed]"),
  hosts: await page.innerText("[data-hosts]"),
  directory: await page.innerText("[data-directory]"),
};
seen.text = await page.innerText("main");
await picture(page, "plain");
console.log("read");
await page.waitForSelector("[data-connection=ended], [data-connection=lost]", { timeout: 120000 });
seen.problems = problems.filter((problem) => !problem.includes("ERR_CONNECTION_REFUSED")); // of a server that is gone
seen.end = {
  chip: await page.innerText("[data-connection]"),
  kind: await page.getAttribute("[data-end]", "data-end"),
  command: await page.innerText("[data-command]"),
};
seen.verdict = (await page.locator("[data-verdict]").allTextContents()).join();
seen.kept = await rowsOf(page, "functions");
await picture(page, seen.end.kind);
await browser.close();
console.log(JSON.stringify(seen));
lines.close();
