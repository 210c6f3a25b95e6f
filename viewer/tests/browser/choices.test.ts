import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as data from "../mock_server/data.js";
import { drawn, launch, missing, mockOf, open, reached, type Mock } from "./page";

describe.skipIf(missing)("what the user chooses on the page", () => {
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

  it("is used by keys alone", async () => {
    const { page, problems } = await open(browser, mock);
    await reached(page, 49);
    await page.keyboard.press("?");
    expect(await page.locator("dialog").isVisible()).toBe(true);
    await page.keyboard.press("Escape");
    expect(await page.locator("dialog").isVisible()).toBe(false);
    // The browser may leave the focus in the sheet for a moment after it was closed.
    await page
      .locator("dialog button")
      .evaluate((button) =>
        button.dispatchEvent(new KeyboardEvent("keydown", { key: "3", bubbles: true })),
      );
    await page.waitForSelector("[data-view=tensors][aria-selected=true]");
    for (const [key, view] of [
      ["2", "ranks"],
      ["3", "tensors"],
      ["4", "generate"],
      ["1", "run"],
    ]) {
      await page.keyboard.press(key);
      await page.waitForSelector(`[data-view=${view}][aria-selected=true]`);
    }
    await page.keyboard.press("]");
    await page.keyboard.press("[");
    await drawn(page);
    expect(page.url()).toContain("step=48");
    await page.keyboard.press("Escape");
    await drawn(page);
    expect(page.url()).not.toContain("step=");
    // Every control is reached by Tab, and each has a name.
    const names = new Set<string>();
    for (let i = 0; i < 20; i++) {
      await page.keyboard.press("Tab");
      names.add(
        await page.evaluate(() => {
          const element = document.activeElement as HTMLElement;
          return element.getAttribute("aria-label") ?? element.innerText;
        }),
      );
    }
    for (const name of ["Run", "Ranks", "Pause", "Steps shown", "Newest", "Keys"])
      expect(names).toContain(name);
    expect(names).not.toContain("");
    await page.focus(".navigator canvas");
    await page.keyboard.press("+");
    await drawn(page);
    expect(page.url()).toMatch(/steps=12-37/);
    await page.keyboard.press("End");
    await drawn(page);
    expect(page.url()).not.toContain("steps=");
    expect(problems).toEqual([]);
    await page.close();
  });

  it("puts what was chosen into the address and takes it from there; the token stays and is not shown", async () => {
    const { page } = await open(browser, mock);
    await reached(page, 49);
    await page.keyboard.press("3");
    await page.waitForSelector("[data-strip] [data-layer]");
    await page.selectOption("[data-method]", "absmax");
    await page.selectOption("[data-column]", "max");
    await page.keyboard.press("Escape");
    await page.locator("[data-heat=statistics] canvas").hover({ position: { x: 300, y: 40 } });
    await page.mouse.down();
    await page.mouse.move(900, 240, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("steps="));
    const address = page.url();
    expect(address).toContain("?token=secret#view=tensors");
    const again = await browser.newPage();
    await again.goto(address);
    await again.waitForSelector("[data-strip] [data-layer]");
    expect(await again.inputValue("[data-method]")).toBe("absmax");
    expect(await again.inputValue("[data-column]")).toBe("max");
    const range = await page.getAttribute(".navigator", "data-from");
    expect(Number(range)).toBeGreaterThan(5);
    expect(await again.getAttribute(".navigator", "data-from")).toBe(range);
    expect(
      sent("subscribe")
        .filter(({ panel }) => panel === "strip-0")
        .at(-1)!.view,
    ).toEqual({ type: "tile", tiles: 96, method: "absmax", keep: 2 });
    expect(await again.evaluate(() => document.documentElement.innerHTML.includes("secret"))).toBe(
      false,
    );
    await again.close();
    await page.close();
  });

  it("shows what the server could not do", async () => {
    const { page, problems } = await open(browser, mock);
    mock.broadcast({ type: "notice", text: "Rank 3 has no space." });
    mock.broadcast({ type: "drops", reason: "full buffer", count: 1234 });
    mock.broadcast({ type: "a later one" });
    await page.waitForSelector("text=Rank 3 has no space.");
    expect(await page.innerText("[data-facts]")).toContain("Lost: full buffer");
    expect(problems).toEqual([]);
    await page.close();
  });

  it("saves what a panel shows as a table", async () => {
    const { page, problems } = await open(browser, mock, "#view=ranks&steps=10-12");
    await page.waitForSelector("[data-heat=compute][data-columns='3']");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.click("[aria-label='Save Compute as a table']"),
    ]);
    expect(file.suggestedFilename()).toBe("megascope-compute.csv");
    const lines = readFileSync(await file.path(), "utf8")
      .trim()
      .split("\n");
    expect(lines.map((line) => line.split(",").length)).toEqual([4, 4, 4, 4, 4]);
    expect(lines[0]).toBe(",10,11,12");
    const [stepMs, mpiMs] = data.times(11, 2);
    expect(lines[3].split(",")[0]).toBe("2");
    expect(Number(lines[3].split(",")[2])).toBeCloseTo(stepMs - mpiMs, 4);
    const [picture] = await Promise.all([
      page.waitForEvent("download"),
      page.click("[aria-label='Save Compute as an image']"),
    ]);
    expect(
      readFileSync(await picture.path())
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    expect(problems).toEqual([]);
    await page.close();
  });

  it("is dark or light as the system is, or as chosen", async () => {
    const { page } = await open(browser, mock, "", "dark");
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(await back()).toBe("rgb(18, 22, 28)");
    await page.keyboard.press("t");
    await page.keyboard.press("t");
    await drawn(page);
    expect(await back()).toBe("rgb(245, 246, 248)");
    expect(page.url()).toContain("theme=light");
    await page.close();
  });
});
