// The page as plugin/live serves it, of a program that answers requests: tests/live/compat_feed.cpp, whose numbers are written here again.

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { short } from "../../src/scale/format";
import { CHROMIUM, cursorTo, drawn, launch, open } from "../browser/page";

const FEED = process.env.MEGASCOPE_LIVE_FEED ?? "";
const HEADS = 8;
const SCORES = 1; // SyntheticTransformer::element()'s family

/** SyntheticTransformer::element() of the whole tensor [1, heads, length, length]. */
function element(
  step: number,
  layer: number,
  head: number,
  query: number,
  key: number,
  length: number,
): number {
  const index = (head * length + query) * length + key;
  return ((step * 7 + SCORES * 31 + layer * 13 + index * 17) % 101) / 8 - 6;
}

describe.skipIf(!existsSync(CHROMIUM) || FEED === "")("the page of the live view's server", () => {
  let browser: Browser;
  let feed: ChildProcess;
  beforeAll(async () => void (browser = await launch()));
  afterAll(() => browser?.close());
  afterEach(() => void feed.kill());

  async function serve(...more: string[]): Promise<{ url: string }> {
    feed = spawn(FEED, ["--rate", "10", "--steps", "100000", ...more], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    for await (const line of createInterface({ input: feed.stdout! })) return { url: line };
    throw new Error("the server has not begun");
  }

  it("says who may not ask, in the server's words", async () => {
    for (const [more, reason] of [
      [[], "start the program with MEGASCOPE_LIVE_CONTROL=allow to enable them."],
      [["--control"], "it has not called megascope_request_poll."],
    ] as const) {
      const { page } = await open(browser, await serve(...more), "#view=generate");
      expect(await page.innerText("[data-why]")).toContain(reason);
      await page.close();
      feed.kill();
    }
  });

  it("generates: tokens, candidates, and the attention of a layer that other ranks hold", async () => {
    const { page, problems } = await open(
      browser,
      await serve("--control", "--polls"),
      "#view=generate&layer=3&head=5&tokens=25",
    );
    await page.waitForSelector("[data-why]", { state: "detached" });
    await page.fill("[data-prompt]", "fail");
    await page.keyboard.press("Enter");
    await page.waitForSelector("[data-phase=failed]");
    expect(await page.innerText("[data-phase]")).toBe(
      "Failed after 0 of 25 tokens: it was told to",
    );
    await page.fill("[data-prompt]", "Hello W");
    await page.keyboard.press("Enter");
    await page.waitForSelector("[data-phase=finished]");
    expect(await page.locator("[data-token]").allInnerTexts()).toEqual([
      ..."Hello␣W",
      ..."abcdefghijklmnopqrstuvwxy",
    ]);
    expect(await page.locator("[data-probability='0.5']").count()).toBe(25);
    const candidates = () =>
      page
        .locator("[data-candidate]")
        .evaluateAll((all) =>
          all.map((row) =>
            [...row.querySelectorAll(".name, [data-value]")].map((cell) => cell.textContent),
          ),
        );
    const three = ["a", "b", "c"].map((letter) => [letter, "0.2500", "0.50"]);
    expect(await candidates()).toEqual([...three, ["y", "0.5000", "0.50"]]);
    await page.click('[data-token="8"]');
    await page.waitForSelector('[data-candidates="8"]');
    expect(await candidates()).toEqual(three);
    expect(await page.locator("[data-chosen=true]").getAttribute("data-candidate")).toBe("98");

    await page.waitForSelector(".attention[data-attention-keys]");
    await page.waitForTimeout(3000); // no view comes any more: the page has ended its subscription
    await drawn(page);
    const length = Number(await page.getAttribute(".attention", "data-attention-keys")); // of the last view, or of one before where the machine was busy
    expect(length).toBeGreaterThanOrEqual(7);
    expect(length).toBeLessThan(7 + 25);
    expect(await page.getAttribute(".attention", "data-first-key")).toBe("0"); // by the step that its token told
    expect(await page.getAttribute(".attention", "data-layer")).toBe("3");
    expect(await page.inputValue(".attention .pattern")).toBe("attention.scores");
    expect(await page.innerText(".attention")).toContain(`of ${HEADS}`);
    const step = Number(await page.getAttribute(".attention", "data-step"));
    for (const head of [5, 0]) {
      await page.fill("[data-field=head]", String(head));
      await page.keyboard.press("Tab");
      await page.waitForSelector(`[data-head='${head}']`);
      await cursorTo(page, "attention", 0, 0);
      for (let key = length - 1, query = 0; key >= 0; key--, query++) {
        const told = await page.innerText('[data-readout="attention"]');
        const value = element(step, 3, head, query, key, length);
        expect(told.replace(", masked", "")).toMatch(
          new RegExp(` \\(${query}\\) → key .* \\(${key}\\): ${short(value).replace(".", "\\.")}$`),
        );
        await page.keyboard.press("ArrowLeft");
        await page.keyboard.press("ArrowDown");
      }
    }
    expect(problems).toEqual([]);
    await page.close();
  });
});
