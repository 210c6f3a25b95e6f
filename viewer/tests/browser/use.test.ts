import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as data from "../mock_server/data.js";
import { drawn, launch, missing, mockOf, open, reached, type Mock } from "./page";

describe.skipIf(missing)("the page", () => {
  let browser: Browser;
  let mock: Mock;
  beforeAll(async () => void (browser = await launch()));
  afterAll(() => browser?.close());
  beforeEach(async () => {
    mock = await mockOf();
    mock.step(50);
  });
  afterEach(() => mock.close());
  const sent = (type: string) => mock.received.filter((message) => message.type === type);

  it("comes back when the connection is lost, and asks for what is new only", async () => {
    const { page } = await open(browser, mock);
    await reached(page, 49);
    mock.refuse(true);
    mock.cut();
    await page.waitForSelector("[data-connection=waiting]");
    expect(await page.innerText("[data-connection]")).toMatch(/^Reconnecting in \d+ s \(try 1\)$/);
    mock.step(10);
    mock.refuse(false);
    await page.click("text=Now");
    await page.waitForSelector("[data-connection=connected]");
    await reached(page, 59);
    expect(
      sent("subscribe")
        .filter(({ panel }) => panel === "steps")
        .map(({ since }) => since),
    ).toEqual([undefined, 50]);
    expect(await page.getAttribute('[data-chart="step-time"]', "data-points")).toBe("60");
    await page.close();
  });

  it("tries again by itself", async () => {
    const { page } = await open(browser, mock);
    mock.cut();
    await page.waitForSelector("[data-connection=waiting]");
    await page.waitForSelector("[data-connection=connected]");
    await page.close();
  });

  it("says why it is refused, and does not try again", async () => {
    const page = await browser.newPage();
    await page.goto(mock.url);
    await page.waitForSelector("[data-connection=connected]");
    await page.evaluate(() => history.replaceState(null, "", "/?token=wrong"));
    mock.cut();
    await page.waitForSelector("[data-connection=refused]");
    expect(await page.innerText("[data-connection]")).toBe(
      "Refused: The token is wrong or missing.",
    );
    await page.close();
  });

  it("counts a job as lost when the server no longer answers, says how to recover it, and keeps what it has", async () => {
    const { page } = await open(browser, mock);
    await reached(page, 49);
    mock.refuse(true);
    mock.cut();
    for (let tries = 0; tries < 5; tries++) {
      await page.waitForSelector("[data-connection=waiting]");
      await page.click("text=Now");
      await page.waitForFunction(
        () =>
          document.querySelector("[data-connection]")?.getAttribute("data-connection") !==
          "connecting",
      );
    }
    await page.waitForSelector("[data-connection=lost]", { timeout: 20000 });
    expect(await page.innerText("[data-connection]")).toBe("Job lost");
    expect(await page.innerText("[data-end=lost]")).toContain("The job is lost");
    expect(await page.innerText("[data-end] [data-command]")).toBe(
      "megascope recover /scratch/me/megascope-17",
    );
    expect(await page.getAttribute('[data-chart="step-time"]', "data-points")).toBe("50");
    const asked = sent("subscribe").length;
    await page.waitForTimeout(1500);
    expect(sent("subscribe").length).toBe(asked);
    mock.refuse(false);
    await page.click("text=Try again");
    await page.waitForSelector("[data-connection=connected]");
    expect(await page.locator("[data-end]").count()).toBe(0);
    await page.close();
  });

  it("says how long the run lasts, on which hosts, and where its directory is", async () => {
    const { page } = await open(browser, mock);
    await page.waitForSelector("[data-hosts]");
    expect(await page.innerText("[data-elapsed]")).toMatch(/^3 min 1\d s$/);
    expect(await page.innerText("[data-hosts]")).toBe("node1");
    expect(await page.getAttribute("[data-directory]", "title")).toBe(
      "Run directory: /scratch/me/megascope-17",
    );
    await page.close();
  });

  it("shows the list of alerts only when there are some", async () => {
    const { page } = await open(browser, mock);
    await reached(page, 49);
    expect(await page.locator("[data-alerts]").count()).toBe(0);
    mock.broadcast({
      type: "alert",
      step: 40,
      ranks: [0],
      text: "loss diverges: 5 consecutive values above 8.25",
    });
    await page.waitForSelector("text=loss diverges");
    expect(await page.innerText("[data-alerts]")).toBe("1");
    await page.close();
  });

  it("shows counters on a logarithmic axis, and smoothed, as the address says", async () => {
    const { page, problems } = await open(browser, mock);
    await reached(page, 49);
    const legend = () => page.innerText('[data-chart="counter-0"] [data-legend]');
    expect(await legend()).not.toContain("mean of");
    await page.click('[data-chart="counter-0"] [data-log]');
    await page.selectOption('[data-chart="counter-0"] [data-smooth]', "5");
    await drawn(page);
    expect(page.url()).toContain("counterScale=log");
    expect(page.url()).toContain("smooth=5");
    const mean = [45, 46, 47, 48, 49].reduce((sum, step) => sum + data.loss(step), 0) / 5;
    expect(await legend()).toContain(`loss (mean of 5) ${Number(mean.toPrecision(4))}`);
    expect(await legend()).toContain(`loss ${Number(data.loss(49).toPrecision(4))}`);
    expect(problems).toEqual([]);
    await page.close();
  });

  it("has whole legends at 1280 × 720, while hovering too", async () => {
    const { page } = await open(browser, mock, "#counters=tokens_per_s|grad*norm");
    await reached(page, 49);
    for (const chart of ["step-time", "throughput", "counter-0", "counter-1"]) {
      await page.hover(`[data-chart="${chart}"] .u-over`);
      await drawn(page);
      const cut = await page.evaluate((name) => {
        const panel = document.querySelector(`[data-chart="${name}"]`)!;
        const box = panel.getBoundingClientRect();
        return [...panel.querySelectorAll("[data-legend] > span, .head > *")]
          .filter((element) => {
            const own = element.getBoundingClientRect();
            return (
              own.right > box.right ||
              own.bottom > box.bottom ||
              (element as HTMLElement).scrollWidth > element.clientWidth + 1
            );
          })
          .map((element) => element.textContent);
      }, chart);
      expect(cut, chart).toEqual([]);
    }
    expect(await page.locator('[data-chart="counter-0"] [data-legend] > span').count()).toBe(5);
    await page.close();
  });

  it("shows the MPI calls of a program that begins no steps", async () => {
    const plain = await mockOf({ intervals: true });
    plain.step(4);
    const { page, problems } = await open(browser, plain);
    await page.waitForSelector("[data-function=MPI_Allreduce]");
    await drawn(page);
    const rows = await page
      .locator("[data-table=functions] tbody tr")
      .evaluateAll((all) => all.map((row) => (row as HTMLElement).dataset));
    expect(rows.map(({ function: name, calls, sent: bytes }) => [name, calls, bytes])).toEqual([
      ["MPI_Allreduce", "80", "640"],
      ["MPI_Sendrecv", "160", "163840"],
      ["MPI_Barrier", "4", "0"],
    ]);
    expect(await page.locator("[data-table=newest] tbody tr").first().innerText()).toContain(
      "480 ms",
    );
    expect(
      await page
        .locator("[data-table=ranks] tr")
        .evaluateAll((all) => all.map((row) => Number((row as HTMLElement).dataset.share))),
    ).toEqual([0.2, 0.3, 0.4, 0.5]);
    await page.focus("[data-heat=messages] canvas");
    for (const key of ["End", "ArrowLeft", "ArrowLeft"]) await page.keyboard.press(key);
    expect(await page.innerText("[data-readout=messages]")).toBe(
      "rank 0 to rank 1: 40 KiB in 40 messages",
    );
    expect(await page.innerText("main")).not.toMatch(/step/i);
    expect(problems).toEqual([]);
    await page.close();
    await plain.close();
  });

  it("keeps what it has when the run ends", async () => {
    const { page, problems } = await open(browser, mock);
    await reached(page, 49);
    mock.end();
    await page.waitForSelector("[data-connection=ended]");
    expect(await page.innerText("[data-connection]")).toBe("Run finished, 50 steps");
    expect(await page.innerText("[data-end] [data-report]")).toBe(
      "/scratch/me/megascope-17/report.txt",
    );
    expect(await page.innerText("[data-end] [data-command]")).toBe(
      "megascope analyze /scratch/me/megascope-17",
    );
    expect(await page.getAttribute('[data-chart="step-time"]', "data-points")).toBe("50");
    expect(problems).toEqual([]);
    await page.close();
  });

  it("shows the verdict that comes after the end, as text, and keeps what it has while it waits", async () => {
    const { page, problems } = await open(browser, mock);
    await reached(page, 49);
    mock.beginEnd();
    await page.waitForSelector("[data-end=finished] [data-awaited]");
    expect(await page.locator("[data-verdict]").count()).toBe(0);
    const asked = mock.received.length;
    await page.click("text=Ranks");
    await page.waitForTimeout(300);
    expect(mock.received.length).toBe(asked);
    const verdict =
      'Rank 3 delays the others: <img src="x" onerror="document.title=1"> <b>40 %</b>';
    mock.conclude(verdict);
    await page.waitForSelector("[data-connection=ended]");
    expect(await page.innerText("[data-end] [data-verdict]")).toBe(verdict);
    expect(await page.locator("[data-verdict] *").count()).toBe(0);
    expect(await page.locator("[data-awaited]").count()).toBe(0);
    expect(await page.innerText("[data-end] [data-report]")).toBe(
      "/scratch/me/megascope-17/report.txt",
    );
    expect(await page.innerText("[data-end] [data-command]")).toBe(
      "megascope analyze /scratch/me/megascope-17",
    );
    expect(problems).toEqual([]);
    await page.close();
  });

  it("names the command only where no verdict was made", async () => {
    const { page } = await open(browser, mock);
    await reached(page, 49);
    mock.beginEnd();
    mock.conclude("");
    await page.waitForSelector("[data-connection=ended]");
    expect(await page.locator("[data-verdict]").count()).toBe(0);
    expect(await page.innerText("[data-end]")).toContain(
      "Verdict: megascope analyze /scratch/me/megascope-17",
    );
    await page.close();
  });

  it("paused draws nothing and sends no credit, so that nothing more comes", async () => {
    const { page } = await open(browser, mock, "#view=tensors");
    await reached(page, 49);
    await page.waitForTimeout(300);
    await page.click("[data-pause]");
    const before = sent("credit").length;
    const picture = () =>
      page.evaluate(() =>
        document.querySelector<HTMLCanvasElement>('[data-heat="strip-3-1"] canvas')!.toDataURL(),
      );
    const shown = await picture();
    for (let i = 0; i < 12; i++) {
      mock.step();
      await page.waitForTimeout(30);
    }
    await page.waitForTimeout(200);
    expect(await picture()).toBe(shown);
    expect(await page.innerText("[data-last-step]")).toBe("49");
    expect(sent("credit").length).toBe(before);
    expect([mock.credits("steps"), mock.credits("strip-0")]).toEqual([[0], [0]]);
    await page.keyboard.press("p");
    await reached(page, 61);
    expect(await picture()).not.toBe(shown);
    await page.waitForTimeout(300);
    expect(mock.credits("steps")[0]).toBeGreaterThan(0);
    await page.close();
  });

  it("gives a credit for each frame that it drew", async () => {
    const { page } = await open(browser, mock);
    await reached(page, 49);
    for (let i = 0; i < 20; i++) {
      mock.step();
      await page.waitForTimeout(20);
    }
    await reached(page, 69);
    await page.waitForTimeout(300);
    expect(mock.credits("steps")).toEqual([2]);
    expect(mock.credits("counters")).toEqual([2]);
    await page.close();
  });

  it("asks for tensors only while they are looked at", async () => {
    const { page } = await open(browser, mock);
    await reached(page, 49);
    expect(sent("subscribe").map(({ panel }) => panel)).toEqual(["steps", "counters"]);
    await page.keyboard.press("3");
    await page.waitForSelector("[data-strip] [data-layer]");
    await page.keyboard.press("1");
    await page.waitForSelector("[data-chart=step-time]");
    await drawn(page);
    expect(
      sent("unsubscribe")
        .map(({ panel }) => panel)
        .sort(),
    ).toEqual(["statistics", "strip-0", "strip-1", "strip-2", "strip-3"]);
    await page.close();
  });
});
