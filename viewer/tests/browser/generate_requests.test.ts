import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { generated, made, phase, PROMPT } from "./generate_page";
import { drawn, launch, missing, mockOf, open, type Mock } from "./page";

describe.skipIf(missing)("requests to generate, and their ends", () => {
  let browser: Browser;
  let mock: Mock;
  beforeAll(async () => void (browser = await launch()));
  afterAll(() => browser?.close());
  beforeEach(async () => {
    mock = await mockOf({ control: { generate: true } });
    mock.step(20);
  });
  afterEach(() => mock.close());
  const sent = (type: string) => mock.received.filter((message) => message.type === type);

  it("keeps in the address what is to be asked, and the token of access out of sight", async () => {
    const { page } = await open(browser, mock, "#view=generate");
    await page.fill("[data-prompt]", "a & b");
    for (const [field, value] of [
      ["tokens", "7"],
      ["temperature", "0.25"],
      ["topK", "3"],
      ["topP", "7"],
      ["seed", "99"],
      ["layer", "2"],
      ["head", "1"],
    ]) {
      await page.fill(`[data-field=${field}]`, value);
      await page.keyboard.press("Tab");
    }
    await drawn(page);
    const hash = new URLSearchParams(new URL(page.url()).hash.slice(1));
    expect(Object.fromEntries(hash)).toEqual({
      view: "generate",
      prompt: "a & b",
      tokens: "7",
      temperature: "0.25",
      topK: "3",
      topP: "1",
      seed: "99",
      layer: "2",
      head: "1",
    });
    const again = await open(browser, mock, new URL(page.url()).hash);
    expect(await again.page.inputValue("[data-prompt]")).toBe("a & b");
    await again.page.click("[data-generate]");
    await phase(again.page, "waiting");
    expect(sent("request")[0]).toMatchObject({
      prompts: ["a & b"],
      tokens: 7,
      temperature: 0.25,
      top_k: 3,
      top_p: 1,
      seed: 99,
    });
    await again.page.close();
    await page.close();
  });

  it("says what the program answered when it can't, and when it is no answer; others' requests are waited for", async () => {
    const { page, problems } = await open(browser, mock, "#view=generate");
    const ask = async (prompt: string): Promise<void> => {
      await page.fill("[data-prompt]", prompt);
      await page.keyboard.press("Enter");
      await phase(page, "waiting");
    };
    await ask("fail");
    mock.step();
    await phase(page, "failed");
    expect(await page.innerText("[data-phase]")).toContain("it was told to");
    await ask("odd");
    mock.step();
    await phase(page, "failed");
    expect(await page.innerText("[data-phase]")).toContain(
      "The program's answer is malformed: prompts is not a list with one entry for each prompt.",
    );
    mock.step(40);
    const other = await open(browser, mock, "#view=generate&prompt=mine&tokens=2");
    await other.page.click("[data-generate]");
    await phase(other.page, "waiting");
    await ask("x");
    expect(await page.innerText("[data-phase]")).toBe("Waiting: 1 request is processed first.");
    mock.step(3);
    await phase(other.page, "finished");
    expect([
      await page.locator("[data-token]").count(),
      await other.page.locator("[data-token]").count(),
    ]).toEqual([0, 6]);
    mock.step(2);
    await phase(page, "running");
    expect([...problems, ...other.problems]).toEqual([]);
    await other.page.close();
    await page.close();
  });

  it("keeps what came when the connection is lost on the way, and can ask again", async () => {
    const { page } = await open(browser, mock, "#view=generate");
    await generated(mock, page, 3);
    mock.cut();
    await phase(page, "lost");
    expect(await page.innerText("[data-phase]")).toBe(
      "The connection was lost, and with it the rest of the text. Generate again.",
    );
    expect(await page.locator("[data-token]").count()).toBe(PROMPT.length + 3);
    await page.waitForSelector("[data-connection=connected]");
    mock.step(40);
    expect(await page.locator("[data-token]").count()).toBe(PROMPT.length + 3);
    await page.click("[data-generate]");
    await phase(page, "waiting");
    await made(mock, page, 2);
    expect(await page.locator("[data-token]").count()).toBe(PROMPT.length + 2);
    await page.close();
  });

  it("paused shows nothing new, and all of it afterwards", async () => {
    const { page } = await open(browser, mock, "#view=generate&tokens=5");
    await generated(mock, page, 2);
    await page.click("[data-pause]");
    for (let i = 0; i < 3; i++) {
      mock.step();
      await page.waitForTimeout(40);
    }
    expect(await page.locator("[data-token]").count()).toBe(PROMPT.length + 2);
    expect(await page.getAttribute("[data-attention-keys]", "data-attention-keys")).toBe(
      String(PROMPT.length + 1),
    );
    await page.click("[data-pause]");
    await phase(page, "finished");
    expect(await page.locator("[data-token]").count()).toBe(PROMPT.length + 5);
    await page.waitForSelector(`[data-attention-keys="${PROMPT.length + 4}"]`);
    await page.close();
  });

  it("keeps the newest token in sight, or the one that was chosen", async () => {
    const { page } = await open(browser, mock, "#view=generate&tokens=200");
    await page.fill("[data-prompt]", "Long.\n".repeat(60));
    await page.keyboard.press("Enter");
    await phase(page, "waiting");
    const inSight = (token: number) =>
      page.evaluate((wanted) => {
        const [list, one] = ["[role=listbox]", `#token-${wanted}`].map((name) =>
          document.querySelector(name)!.getBoundingClientRect(),
        );
        return one.top >= list.top && one.bottom <= list.bottom;
      }, token);
    const goOn = async (steps: number, count: number) => {
      mock.step(steps);
      await page.waitForSelector(`[role=listbox][data-count="${count}"]`);
      await drawn(page);
    };
    await goOn(31, 390);
    expect([await inSight(389), await inSight(0)]).toEqual([true, false]);
    for (let count = 395; count <= 420; count += 5) await goOn(5, count);
    expect(await inSight(419)).toBe(true);
    await page.focus("[role=listbox]");
    await page.keyboard.press("Home");
    await goOn(60, 480);
    expect([await inSight(0), await inSight(479)]).toEqual([true, false]);
    await page.keyboard.press("End");
    await drawn(page);
    expect(await inSight(479)).toBe(true);
    await page.close();
  });

  it.each(["dark", "light"] as const)(
    "fits into 1280 × 720 in %s, with a text that is longer than its panel",
    async (theme) => {
      mock.step(3000); // numbers of four digits
      const { page, problems } = await open(
        browser,
        mock,
        `#view=generate&theme=${theme}&tokens=200`,
      );
      await page.fill("[data-prompt]", "Long.\n".repeat(60));
      await page.keyboard.press("Enter");
      await phase(page, "waiting");
      mock.step(31);
      await page.waitForSelector('[role=listbox][data-count="390"]');
      await drawn(page);
      const over = await page.evaluate(() => ({
        page: [
          document.documentElement.scrollWidth - window.innerWidth,
          document.documentElement.scrollHeight - window.innerHeight,
        ],
        panels: [...document.querySelectorAll<HTMLElement>(".panel")].map((panel) =>
          Math.max(panel.scrollWidth - panel.clientWidth, panel.scrollHeight - panel.clientHeight),
        ),
        outside: [...document.querySelectorAll(".panel, button")].filter(
          (one) =>
            one.getBoundingClientRect().bottom > window.innerHeight ||
            one.getBoundingClientRect().right > window.innerWidth,
        ).length,
        chart: document.querySelector("[data-heat=attention] canvas")!.clientHeight,
      }));
      expect(over.page.every((pixels) => pixels <= 0)).toBe(true);
      expect(
        over.panels.every((pixels) => pixels <= 0),
        String(over.panels),
      ).toBe(true);
      expect(over.outside).toBe(0);
      expect(over.chart).toBeGreaterThan(300);
      expect(problems).toEqual([]);
      await page.close();
    },
  );
});
