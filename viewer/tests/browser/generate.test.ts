import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { logit, probability, quoted, visible } from "../../src/scale/visible";
import * as data from "../mock_server/data.js";
import { generated, phase, PROMPT, shown, told } from "./generate_page";
import { WHY_NOT } from "../mock_server/server.js";
import { colourOf, cursorTo, drawn, launch, missing, mockOf, open, type Mock } from "./page";

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

  it("says why nothing can be asked, and lets ask when it can be", async () => {
    const refusing = await mockOf();
    const { page, problems } = await open(browser, refusing, "#view=generate");
    expect(await page.innerText("[data-why]")).toContain(WHY_NOT);
    expect(await page.innerText("[data-why]")).toContain("MEGASCOPE_LIVE_CONTROL=allow");
    expect([
      await page.isDisabled("[data-generate]"),
      await page.isDisabled("[data-prompt]"),
    ]).toEqual([true, true]);
    refusing.allow();
    await page.waitForSelector("[data-why]", { state: "detached" });
    expect(await page.isDisabled("[data-prompt]")).toBe(false);
    refusing.end();
    await page.waitForSelector("[data-why]");
    expect(await page.innerText("[data-why]")).toBe(
      "The run has ended; requests are no longer possible.",
    );
    expect(problems).toEqual([]);
    await page.close();
    await refusing.close();
  });

  it("asks for attention, then for the text, and shows tokens as they come", async () => {
    const { page, problems } = await open(
      browser,
      mock,
      "#view=generate&layer=2&head=1&tokens=6&temperature=0.5&topK=5&topP=0.9&seed=-3",
    );
    await generated(mock, page, 5);
    const all = mock.received.filter(
      ({ type, panel }) => type === "request" || String(panel).startsWith("attention"),
    );
    expect(all.map(({ type, panel, name, layers }) => [type, panel, name, layers])).toEqual([
      ["subscribe", "attention-1", "*scores*", [2, 2]],
      ["credit", "attention-1", undefined, undefined],
      ["request", undefined, undefined, undefined],
      ...all.slice(3).map(() => ["credit", "attention-1", undefined, undefined]),
    ]);
    expect(sent("request")[0]).toMatchObject({
      request: "generate",
      prompts: [PROMPT],
      tokens: 6,
      temperature: 0.5,
      top_k: 5,
      top_p: 0.9,
      seed: -3,
    });
    expect(await page.innerText("[data-phase]")).toBe("Running: 5 of 6 tokens.");
    const texts = await page.locator("[data-token]").allInnerTexts();
    expect(texts).toEqual([..."Hi␣you", "e", "␣", "t", "↵", "a"]);
    const chances = await page
      .locator("[data-probability]")
      .evaluateAll((all) => all.map((one) => Number((one as HTMLElement).dataset.probability)));
    expect(chances).toEqual([0, 1, 2, 3, 4].map((i) => data.generated(i).sampled.probability));
    mock.step();
    await phase(page, "finished");
    expect(await page.innerText("[data-phase]")).toBe("Finished: 6 of 6 tokens.");
    await page.waitForSelector(`[data-attention-keys="${PROMPT.length + 5}"]`); // what comes with the last token, too
    await page.waitForTimeout(KEPT_FOR_MS + 500);
    expect(sent("unsubscribe").map(({ panel }) => panel)).toEqual(["attention-1"]);
    expect(await page.getAttribute("[data-attention-keys]", "data-attention-keys")).toBe(
      String(PROMPT.length + 5),
    );
    expect(problems).toEqual([]);
    await page.close();
  });

  it("shows what else could have been chosen, also where the chosen one was not among it", async () => {
    const { page } = await open(browser, mock, "#view=generate");
    await generated(mock, page, 6);
    for (const index of [5, 4, 1]) {
      await page.click(`[data-token="${PROMPT.length + index}"]`);
      await page.waitForSelector(`[data-candidates="${PROMPT.length + index}"]`);
      const { sampled, top } = data.generated(index);
      const rows = await page
        .locator("[data-candidate]")
        .evaluateAll((all) =>
          all.map((row) => [
            (row as HTMLElement).dataset.candidate,
            row.querySelector(".name")!.textContent,
            ...[...row.querySelectorAll("[data-value]")].map((cell) => cell.textContent),
          ]),
        );
      const isAmong = top.some(({ id }) => id === sampled.id);
      expect(isAmong).toBe(index !== 4);
      const expected = (isAmong ? top : [...top, sampled]).map((one) => [
        String(one.id),
        visible({ id: one.id, text: one.token }),
        probability(one.probability),
        logit(one.logit),
      ]);
      expect(rows).toEqual(expected);
      expect(
        await page
          .locator("[data-chosen=true]")
          .evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset.candidate)),
      ).toEqual([String(sampled.id)]);
    }
    await page.click('[data-token="0"]');
    await page.waitForSelector("text=“H” is part of the prompt and was not generated.");
    await page.close();
  });

  it("shows attention of a layer and a head, in the colours of its values", async () => {
    const { page, problems } = await open(browser, mock, "#view=generate&layer=1&head=2&tokens=5");
    await generated(mock, page, 4);
    const keys = PROMPT.length + 3;
    const text = [...PROMPT, "e", " ", "t", "\n"];
    const name = (position: number): string =>
      `${quoted({ id: 1, text: text[position] })} (${position})`;
    const check = async (layer: number, head: number): Promise<void> => {
      for (const [query, key] of [
        [keys - 1, keys - 1],
        [5, 2],
        [3, 0],
      ]) {
        await cursorTo(page, "attention", 0, 0);
        await page.keyboard.press("Home");
        for (let i = 0; i < keys; i++) await page.keyboard.press("ArrowUp");
        for (let i = 0; i < query; i++) await page.keyboard.press("ArrowDown");
        for (let i = 0; i < key; i++) await page.keyboard.press("ArrowRight");
        const [where, value] = (await told(page)).split(": ");
        expect(where).toBe(`query ${name(query)} → key ${name(key)}`);
        expect(Number(value.replace("−", "-"))).toBeCloseTo(
          data.attentionRow(layer, head, query, keys)[key],
          3,
        );
      }
    };
    expect(await page.getAttribute(".attention", "data-layer")).toBe("1");
    await check(1, 2);
    const light = ([red, green, blue]: number[]): number =>
      red * 0.2126 + green * 0.7152 + blue * 0.0722;
    expect(light(await colourOf(page, "attention", 0, 0))).toBeGreaterThan(
      light(await colourOf(page, "attention", 6, 0)) + 60,
    );
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
    expect(await page.innerText("[data-none-yet]")).toBe(
      "Layer 0 was not captured while the text was generated. Generate again; the same seed gives the same text.",
    );
    expect(problems).toEqual([]);
    await page.close();
  });

  it("marks the row of the token that is chosen, and says where it looks", async () => {
    const { page } = await open(browser, mock, "#view=generate");
    await generated(mock, page, 4);
    const row = data.attentionRow(0, 0, 8, PROMPT.length + 3);
    const most = Math.max(...row);
    const said =
      /^“↵” \(9\) was chosen at “t” \(8\), which looks most at “.+?” \((\d+)\) ([\d.]+),/.exec(
        await page.innerText("[data-looked]"),
      )!;
    expect(Number(said[1])).toBe(row.indexOf(most));
    expect(Number(said[2])).toBeCloseTo(most, 2);
    await page.click('[data-token="1"]');
    await page.waitForFunction(() =>
      document
        .querySelector("[data-looked]")!
        .textContent!.startsWith("Query “i” (1) looks most at "),
    );
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
      names.push(
        await page.evaluate(() => {
          const element = document.activeElement as HTMLElement;
          return (
            element.getAttribute("aria-label") ??
            (element.closest("label")?.innerText || element.innerText)
          );
        }),
      );
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
    for (
      let i = 0;
      i < 12 &&
      (await page.evaluate(() => document.activeElement!.getAttribute("role"))) !== "listbox";
      i++
    )
      await page.keyboard.press("Tab");
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
});
