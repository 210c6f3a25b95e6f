import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { logit, probability, quoted, visible } from "../../src/scale/visible";
import * as data from "../mock_server/data.js";
import { WHY_NOT } from "../mock_server/server.js";
import { colourOf, cursorTo, drawn, launch, missing, mockOf, open, type Mock } from "./page";

const PROMPT = "Hi you";
const KEPT_FOR_MS = 2500; // views are wanted so long after the end

describe.skipIf(missing)("the view of what the program generates", () => {
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
  const phase = (page: Page, wanted: string) => page.waitForSelector(`[data-phase=${wanted}]`);
  const told = (page: Page) => page.innerText('[data-readout="attention"]');
  const shown = (page: Page) => page.getAttribute("[role=listbox]", "data-shown");

  /** The program takes the request, and makes so many tokens of it. */
  async function made(page: Page, tokens: number): Promise<void> {
    mock.step();
    await phase(page, "running");
    for (let i = 0; i < tokens; i++) {
      mock.step();
      await page.waitForSelector(`[data-attention-keys="${PROMPT.length + i}"]`);
    }
    await drawn(page);
  }
  async function generated(page: Page, tokens: number): Promise<void> {
    await page.fill("[data-prompt]", PROMPT);
    await page.keyboard.press("Enter");
    await phase(page, "waiting");
    await made(page, tokens);
  }

  it("says why nothing can be asked, and lets ask when it can be", async () => {
    const refusing = await mockOf();
    const { page, problems } = await open(browser, refusing, "#view=generate");
    expect(await page.innerText("[data-why]")).toContain(WHY_NOT);
    expect(await page.innerText("[data-why]")).toContain("MEGASCOPE_LIVE_CONTROL=allow");
    expect([await page.isDisabled("[data-generate]"), await page.isDisabled("[data-prompt]")]).toEqual([true, true]);
    refusing.allow();
    await page.waitForSelector("[data-why]", { state: "detached" });
    expect(await page.isDisabled("[data-prompt]")).toBe(false);
    refusing.end();
    await page.waitForSelector("[data-why]");
    expect(await page.innerText("[data-why]")).toBe("The run has ended; requests are no longer possible.");
    expect(problems).toEqual([]);
    await page.close();
    await refusing.close();
  });

  it("asks for attention, then for the text, and shows tokens as they come", async () => {
    const { page, problems } = await open(browser, mock, "#view=generate&layer=2&head=1&tokens=6&temperature=0.5&topK=5&topP=0.9&seed=-3");
    await generated(page, 5);
    const all = mock.received.filter(({ type, panel }) => type === "request" || String(panel).startsWith("attention"));
    expect(all.map(({ type, panel, name, layers }) => [type, panel, name, layers])).toEqual([
      ["subscribe", "attention-1", "*scores*", [2, 2]], ["credit", "attention-1", undefined, undefined], ["request", undefined, undefined, undefined],
      ...all.slice(3).map(() => ["credit", "attention-1", undefined, undefined]),
    ]);
    expect(sent("request")[0]).toMatchObject({ request: "generate", prompts: [PROMPT], tokens: 6, temperature: 0.5, top_k: 5, top_p: 0.9, seed: -3 });
    expect(await page.innerText("[data-phase]")).toBe("Running: 5 of 6 tokens.");
    const texts = await page.locator("[data-token]").allInnerTexts();
    expect(texts).toEqual([..."Hi␣you", "e", "␣", "t", "↵", "a"]);
    const chances = await page.locator("[data-probability]").evaluateAll((all) => all.map((one) => Number((one as HTMLElement).dataset.probability)));
    expect(chances).toEqual([0, 1, 2, 3, 4].map((i) => data.generated(i).sampled.probability));
    mock.step();
    await phase(page, "finished");
    expect(await page.innerText("[data-phase]")).toBe("Finished: 6 of 6 tokens.");
    await page.waitForSelector(`[data-attention-keys="${PROMPT.length + 5}"]`); // what comes with the last token, too
    await page.waitForTimeout(KEPT_FOR_MS + 500);
    expect(sent("unsubscribe").map(({ panel }) => panel)).toEqual(["attention-1"]);
    expect(await page.getAttribute("[data-attention-keys]", "data-attention-keys")).toBe(String(PROMPT.length + 5));
    expect(problems).toEqual([]);
    await page.close();
  });

  it("shows what else could have been chosen, also where the chosen one was not among it", async () => {
    const { page } = await open(browser, mock, "#view=generate");
    await generated(page, 6);
    for (const index of [5, 4, 1]) {
      await page.click(`[data-token="${PROMPT.length + index}"]`);
      await page.waitForSelector(`[data-candidates="${PROMPT.length + index}"]`);
      const { sampled, top } = data.generated(index);
      const rows = await page.locator("[data-candidate]").evaluateAll((all) =>
        all.map((row) => [(row as HTMLElement).dataset.candidate, row.querySelector(".name")!.textContent, ...[...row.querySelectorAll("[data-value]")].map((cell) => cell.textContent)]),
      );
      const isAmong = top.some(({ id }) => id === sampled.id);
      expect(isAmong).toBe(index !== 4);
      const expected = (isAmong ? top : [...top, sampled]).map((one) => [String(one.id), visible({ id: one.id, text: one.token }), probability(one.probability), logit(one.logit)]);
      expect(rows).toEqual(expected);
      expect(await page.locator("[data-chosen=true]").evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset.candidate))).toEqual([String(sampled.id)]);
    }
    await page.click('[data-token="0"]');
    await page.waitForSelector("text=“H” is part of the prompt and was not generated.");
    await page.close();
  });

  it("shows attention of a layer and a head, in the colours of its values", async () => {
    const { page, problems } = await open(browser, mock, "#view=generate&layer=1&head=2&tokens=5");
    await generated(page, 4);
    const keys = PROMPT.length + 3;
    const text = [...PROMPT, "e", " ", "t", "\n"];
    const name = (position: number): string => `${quoted({ id: 1, text: text[position] })} (${position})`;
    const check = async (layer: number, head: number): Promise<void> => {
      for (const [query, key] of [[keys - 1, keys - 1], [5, 2], [3, 0]]) {
        await cursorTo(page, "attention", 0, 0);
        await page.keyboard.press("Home");
        for (let i = 0; i < keys; i++) await page.keyboard.press("ArrowUp");
        for (let i = 0; i < query; i++) await page.keyboard.press("ArrowDown");
        for (let i = 0; i < key; i++) await page.keyboard.press("ArrowRight");
        const [where, value] = (await told(page)).split(": ");
        expect(where).toBe(`query ${name(query)} → key ${name(key)}`);
        expect(Number(value.replace("−", "-"))).toBeCloseTo(data.attentionRow(layer, head, query, keys)[key], 3);
      }
    };
    expect(await page.getAttribute(".attention", "data-layer")).toBe("1");
    await check(1, 2);
    const light = ([red, green, blue]: number[]): number => red * 0.2126 + green * 0.7152 + blue * 0.0722;
    expect(light(await colourOf(page, "attention", 0, 0))).toBeGreaterThan(light(await colourOf(page, "attention", 6, 0)) + 60);
    expect(await colourOf(page, "attention", 2, 7)).toEqual([236, 239, 243]); // masked: as the page has nothing there
    await page.fill("[data-field=head]", "0");
    await page.keyboard.press("Tab");
    await page.waitForSelector("[data-head='0']");
    await check(1, 0);
    const chooseLayer = async (layer: string): Promise<void> => {
      await page.fill("[data-field=layer]", layer);
      await page.keyboard.press("Tab");
      await drawn(page);
    };
    await chooseLayer("3"); // while the text is made
    await page.waitForSelector("[data-layer='3']");
    await check(3, 0);
    expect(page.url()).toContain("layer=3");
    mock.step();
    await phase(page, "finished");
    await page.waitForTimeout(KEPT_FOR_MS + 500);
    await chooseLayer("1"); // of which there is what was shown before
    expect(await page.getAttribute(".attention", "data-attention-keys")).toBe(String(keys));
    await chooseLayer("0");
    expect(await page.innerText("[data-none-yet]")).toBe("Layer 0 was not captured while the text was generated. Generate again; the same seed gives the same text.");
    expect(problems).toEqual([]);
    await page.close();
  });

  it("marks the row of the token that is chosen, and says where it looks", async () => {
    const { page } = await open(browser, mock, "#view=generate");
    await generated(page, 4);
    const row = data.attentionRow(0, 0, 8, PROMPT.length + 3);
    const most = Math.max(...row);
    const said = /^“↵” \(9\) was chosen at “t” \(8\), which looks most at “.+?” \((\d+)\) ([\d.]+),/.exec(await page.innerText("[data-looked]"))!;
    expect(Number(said[1])).toBe(row.indexOf(most));
    expect(Number(said[2])).toBeCloseTo(most, 2);
    await page.click('[data-token="1"]');
    await page.waitForFunction(() => document.querySelector("[data-looked]")!.textContent!.startsWith("Query “i” (1) looks most at "));
    await cursorTo(page, "attention", 7, 3);
    await page.keyboard.press("Enter");
    await page.waitForSelector('[role=listbox][data-shown="8"]'); // what was chosen at query 7
    await page.close();
  });

  it("knows which tokens attention is of when the text is longer than the model looks back", async () => {
    const looking = await mockOf({ control: { generate: true }, window: 4 });
    looking.step(5);
    const { page } = await open(browser, looking, "#view=generate&tokens=4&prompt=Hi%20you");
    await page.click("[data-generate]");
    await phase(page, "waiting");
    looking.step(5);
    await phase(page, "finished");
    await page.waitForSelector("[data-first-key='5']"); // of the text with 9 tokens
    await cursorTo(page, "attention", 3, 3);
    expect((await told(page)).replace(/: .*/, "")).toBe("query “t” (8) → key “u” (5)");
    await page.close();
    await looking.close();
  });

  it("is used by keys alone, and follows the newest token until another is chosen", async () => {
    const { page, problems } = await open(browser, mock, "#view=generate");
    const names: string[] = [];
    for (let i = 0; i < 30; i++) {
      await page.keyboard.press("Tab");
      names.push(await page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        return element.getAttribute("aria-label") ?? (element.closest("label")?.innerText || element.innerText);
      }));
      if (names.at(-1)!.startsWith("Prompt")) break;
    }
    expect(names.at(-1)).toContain("Prompt");
    await page.keyboard.type("Hi");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("you");
    await page.keyboard.press("Enter");
    await phase(page, "waiting");
    expect(sent("request")[0].prompts).toEqual(["Hi\nyou"]);
    mock.step(6);
    await page.waitForSelector('[role=listbox][data-count="11"]');
    for (let i = 0; i < 12 && (await page.evaluate(() => document.activeElement!.getAttribute("role"))) !== "listbox"; i++) await page.keyboard.press("Tab");
    expect(await shown(page)).toBe("10");
    await page.keyboard.press("ArrowLeft");
    expect(await shown(page)).toBe("9");
    mock.step();
    await page.waitForSelector('[role=listbox][data-count="12"]');
    expect(await shown(page)).toBe("9");
    await page.keyboard.press("End");
    expect(await shown(page)).toBe("11");
    mock.step();
    await page.waitForSelector('[role=listbox][data-shown="12"]');
    await page.keyboard.press("Shift+ArrowLeft");
    expect(await shown(page)).toBe("2");
    await page.keyboard.press("Home");
    expect(await shown(page)).toBe("0");
    expect(await page.getAttribute("[role=listbox]", "aria-activedescendant")).toBe("token-0");
    await page.keyboard.press("Escape");
    expect(await shown(page)).toBe("12");
    expect(problems).toEqual([]);
    await page.close();
  });

  it("keeps in the address what is to be asked, and the token of access out of sight", async () => {
    const { page } = await open(browser, mock, "#view=generate");
    await page.fill("[data-prompt]", "a & b");
    for (const [field, value] of [["tokens", "7"], ["temperature", "0.25"], ["topK", "3"], ["topP", "7"], ["seed", "99"], ["layer", "2"], ["head", "1"]]) {
      await page.fill(`[data-field=${field}]`, value);
      await page.keyboard.press("Tab");
    }
    await drawn(page);
    const hash = new URLSearchParams(new URL(page.url()).hash.slice(1));
    expect(Object.fromEntries(hash)).toEqual({ view: "generate", prompt: "a & b", tokens: "7", temperature: "0.25", topK: "3", topP: "1", seed: "99", layer: "2", head: "1" });
    const again = await open(browser, mock, new URL(page.url()).hash);
    expect(await again.page.inputValue("[data-prompt]")).toBe("a & b");
    await again.page.click("[data-generate]");
    await phase(again.page, "waiting");
    expect(sent("request")[0]).toMatchObject({ prompts: ["a & b"], tokens: 7, temperature: 0.25, top_k: 3, top_p: 1, seed: 99 });
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
    expect(await page.innerText("[data-phase]")).toContain("The program's answer is malformed: prompts is not a list with one entry for each prompt.");
    mock.step(40);
    const other = await open(browser, mock, "#view=generate&prompt=mine&tokens=2");
    await other.page.click("[data-generate]");
    await phase(other.page, "waiting");
    await ask("x");
    expect(await page.innerText("[data-phase]")).toBe("Waiting: 1 request is processed first.");
    mock.step(3);
    await phase(other.page, "finished");
    expect([await page.locator("[data-token]").count(), await other.page.locator("[data-token]").count()]).toEqual([0, 6]);
    mock.step(2);
    await phase(page, "running");
    expect([...problems, ...other.problems]).toEqual([]);
    await other.page.close();
    await page.close();
  });

  it("keeps what came when the connection is lost on the way, and can ask again", async () => {
    const { page } = await open(browser, mock, "#view=generate");
    await generated(page, 3);
    mock.cut();
    await phase(page, "lost");
    expect(await page.innerText("[data-phase]")).toBe("The connection was lost, and with it the rest of the text. Generate again.");
    expect(await page.locator("[data-token]").count()).toBe(PROMPT.length + 3);
    await page.waitForSelector("[data-connection=connected]");
    mock.step(40);
    expect(await page.locator("[data-token]").count()).toBe(PROMPT.length + 3);
    await page.click("[data-generate]");
    await phase(page, "waiting");
    await made(page, 2);
    expect(await page.locator("[data-token]").count()).toBe(PROMPT.length + 2);
    await page.close();
  });

  it("paused shows nothing new, and all of it afterwards", async () => {
    const { page } = await open(browser, mock, "#view=generate&tokens=5");
    await generated(page, 2);
    await page.click("[data-pause]");
    for (let i = 0; i < 3; i++) {
      mock.step();
      await page.waitForTimeout(40);
    }
    expect(await page.locator("[data-token]").count()).toBe(PROMPT.length + 2);
    expect(await page.getAttribute("[data-attention-keys]", "data-attention-keys")).toBe(String(PROMPT.length + 1));
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
        const [list, one] = ["[role=listbox]", `#token-${wanted}`].map((name) => document.querySelector(name)!.getBoundingClientRect());
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

  it.each(["dark", "light"] as const)("fits into 1280 × 720 in %s, with a text that is longer than its panel", async (theme) => {
    mock.step(3000); // numbers of four digits
    const { page, problems } = await open(browser, mock, `#view=generate&theme=${theme}&tokens=200`);
    await page.fill("[data-prompt]", "Long.\n".repeat(60));
    await page.keyboard.press("Enter");
    await phase(page, "waiting");
    mock.step(31);
    await page.waitForSelector('[role=listbox][data-count="390"]');
    await drawn(page);
    const over = await page.evaluate(() => ({
      page: [document.documentElement.scrollWidth - window.innerWidth, document.documentElement.scrollHeight - window.innerHeight],
      panels: [...document.querySelectorAll<HTMLElement>(".panel")].map((panel) => Math.max(panel.scrollWidth - panel.clientWidth, panel.scrollHeight - panel.clientHeight)),
      outside: [...document.querySelectorAll(".panel, button")].filter((one) => one.getBoundingClientRect().bottom > window.innerHeight || one.getBoundingClientRect().right > window.innerWidth).length,
      chart: document.querySelector("[data-heat=attention] canvas")!.clientHeight,
    }));
    expect(over.page.every((pixels) => pixels <= 0)).toBe(true);
    expect(over.panels.every((pixels) => pixels <= 0), String(over.panels)).toBe(true);
    expect(over.outside).toBe(0);
    expect(over.chart).toBeGreaterThan(300);
    expect(problems).toEqual([]);
    await page.close();
  });
});
