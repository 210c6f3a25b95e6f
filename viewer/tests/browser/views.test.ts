import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { duration, short } from "../../src/scale/format";
import * as data from "../mock_server/data.js";
import { colourOf, cursorTo, launch, missing, mockOf, open, reached, type Mock } from "./page";

const NAN = [0xff, 0x2f, 0xd0];

describe.skipIf(missing)("the page shows what the server said", () => {
  let browser: Browser;
  let mock: Mock;
  beforeAll(async () => void (browser = await launch()));
  afterAll(() => browser?.close());
  beforeEach(async () => {
    mock = await mockOf();
    mock.step(120);
  });
  afterEach(() => mock.close());

  it("of the run: times, rate, counters", async () => {
    const { page, problems } = await open(browser, mock);
    await reached(page, 119);
    const told = (chart: string) =>
      page.locator(`[data-chart="${chart}"] .chart-legend`).innerText();
    const times = Array.from({ length: 4 }, (_, rank) =>
      Math.fround(data.times(119, rank)[0]),
    ).sort((a, b) => a - b);
    const expected = [
      "step 119",
      `least ${short(times[0])}`,
      `median ${short((times[1] + times[2]) / 2)}`,
      `most ${short(times[3])}`,
    ];
    expect((await told("step-time")).split("\n")).toEqual(expected);
    const rate = 10000 / (data.beganMs(119) - data.beganMs(109));
    expect(await told("throughput")).toBe(`step 119\nsteps/s ${short(rate)}`);
    expect(await told("counter-0")).toBe(`step 119\nloss ${short(data.loss(119))}`);
    expect(await told("counter-1")).toBe(
      `step 119\ngradient_norm ${short(data.gradientNorm(119))}`,
    );
    expect(await page.getAttribute('[data-chart="step-time"]', "data-points")).toBe("120");
    mock.step();
    await reached(page, 120);
    expect(await told("counter-0")).toBe(`step 120\nloss ${short(data.loss(120))}`);
    expect(problems).toEqual([]);
    await page.close();
  });

  it("of the run: counters of a pattern, one line a rank; of none it says which there are", async () => {
    const { page } = await open(browser, mock);
    await page.fill('[data-chart="counter-0"] input', "tokens*");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() =>
      document
        .querySelector('[data-chart="counter-0"] .chart-legend')
        ?.textContent?.includes("rank 3"),
    );
    const lines = (await page.locator('[data-chart="counter-0"] .chart-legend').innerText()).split(
      "\n",
    );
    expect(lines).toEqual([
      "step 119",
      ...[0, 1, 2, 3].map((rank) => `tokens_per_s (rank ${rank}) ${short(1000 + 10 * rank + 119)}`),
    ]);
    await page.fill('[data-chart="counter-0"] input', "nothing");
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=There are: gradient_norm, loss, tokens_per_s");
    await page.close();
  });

  it("of ranks: numbers of a cell that is clicked, the slow rank first, brighter where it is slow", async () => {
    const { page, problems } = await open(browser, mock, "#view=ranks&steps=1-119");
    await reached(page, 119);
    expect(await page.getAttribute("[data-heat=compute]", "data-columns")).toBe("119");
    await cursorTo(page, "compute", 2, 119 - 55);
    const [stepMs, mpiMs, ownMs] = data.times(55, 2).map(Math.fround);
    expect(await page.innerText("[data-readout]")).toBe(
      `rank 2, step 55: compute ${duration(stepMs - mpiMs)}, in MPI ${duration(mpiMs)}`,
    );
    await page.keyboard.press("Enter");
    const value = (name: string) => page.innerText(`[data-chosen] [data-value="${name}"]`);
    await page.waitForSelector("[data-chosen] >> text=Rank 2, step 55");
    expect([await value("step_ms"), await value("mpi_ms"), await value("own_ms")]).toEqual(
      [stepMs, mpiMs, ownMs].map(duration),
    );
    expect(await page.innerText("[data-chosen]")).toContain("node1, 4002");
    expect(await page.locator("[data-rank]").first().getAttribute("data-rank")).toBe(
      String(data.SLOW_RANK),
    );
    const light = ([red, green, blue]: number[]): number =>
      red * 0.2126 + green * 0.7152 + blue * 0.0722;
    const slow = await colourOf(page, "compute", data.SLOW_RANK, 60);
    const usual = await colourOf(page, "compute", data.SLOW_RANK, 20);
    expect(light(slow)).toBeGreaterThan(light(usual) + 60);
    expect(light(await colourOf(page, "mpi", 0, 60))).toBeGreaterThan(
      light(await colourOf(page, "mpi", data.SLOW_RANK, 60)) + 60,
    );
    expect(page.url()).toContain("rank=2&step=55");
    expect(problems).toEqual([]);
    await page.close();
  });

  it("of tensors: a statistic of each layer and step, NaN in its colour", async () => {
    mock.step(60); // to 179
    const { page, problems } = await open(browser, mock, "#view=tensors&steps=100-179&column=max");
    await page.waitForSelector('[data-heat=statistics][data-columns="80"][data-rows="4"]');
    await cursorTo(page, "statistics", 1, 179 - 140);
    const hidden = (layer: number) =>
      mock.model.tensors.find((tensor) => tensor.name === "hidden" && tensor.layer === layer)!;
    const told = await page.innerText('[data-readout="statistics"]');
    const [count, , , least, most, mean, norm] = data.statistics(hidden(1), 140, 4);
    expect(told).toContain(
      `hidden, layer 1, step 140: min ${short(least)}, max ${short(most)}, mean ${short(mean)}, norm ${short(norm)}`,
    );
    expect(told.replace(/\D/g, "").endsWith(`00${count}`)).toBe(true);
    expect(await colourOf(page, "statistics", 3, data.NAN_STEP - 100)).toEqual(NAN);
    expect(await colourOf(page, "statistics", 3, data.NAN_STEP - 101)).not.toEqual(NAN);
    expect(await colourOf(page, "statistics", 2, data.NAN_STEP - 100)).not.toEqual(NAN);
    expect(await page.innerText("[data-none] >> nth=0")).toBe(`${17 + 29} NaN in the last step`);
    await page.selectOption("[data-column]", "nan");
    await page.waitForFunction(
      () => document.querySelector(".legend")?.getAttribute("data-high") === "46",
    );
    expect(await colourOf(page, "statistics", 3, data.NAN_STEP - 100)).not.toEqual(NAN);
    expect(problems).toEqual([]);
    await page.close();
  });

  it("of tensors: strips of every layer on one scale, a tile's value, NaN in its colour", async () => {
    mock.step(40); // to 159
    const { page, problems } = await open(browser, mock, "#view=tensors");
    await page.waitForSelector('[data-strip="3"][data-step="159"] [data-layer="3"]');
    await reached(page, 159);
    expect(await page.locator("[data-strip] [data-layer]").count()).toBe(16);
    expect(await page.getAttribute('[data-heat="strip-1-2"]', "data-columns")).toBe("86"); // 512 in tiles of 6
    const mlp1 = mock.model.tensors.find((tensor) => tensor.name === "mlp1" && tensor.layer === 2)!;
    await cursorTo(page, "strip-1-2", 7, 3);
    const value = data.tile(mlp1, 159, 7, 82, 86);
    const told = await page.innerText('[data-readout="strips"]');
    expect(told).toContain(
      "mlp1, layer 2, step 159, sequence 0, token 7, mean of elements 492–497: ",
    );
    expect(Number(told.split(": ")[1].replace("−", "-"))).toBeCloseTo(value, 2);
    // The scale reaches from the least to the most of all layers.
    let [least, most] = [Infinity, -Infinity];
    for (const tensor of mock.model.tensors.filter(({ name }) => name === "mlp1")) {
      for (let row = 0; row < 64; row++) {
        for (let column = 0; column < 86; column++) {
          const element = data.tile(tensor, 159, row, column, 86);
          [least, most] = [Math.min(least, element), Math.max(most, element)];
        }
      }
    }
    const legend = page.locator('[data-strip="1"] .legend');
    expect(Number(await legend.getAttribute("data-low"))).toBeCloseTo(least, 2);
    expect(Number(await legend.getAttribute("data-high"))).toBeCloseTo(most, 2);
    expect(await page.innerText('[data-strip="3"] [data-none]')).toBe("16 NaN");
    await page.setViewportSize({ width: 1280, height: 1400 }); // a pixel a token
    await page.waitForTimeout(200);
    expect(await colourOf(page, "strip-3-3", 5, 41)).toEqual(NAN);
    expect(await colourOf(page, "strip-3-3", 6, 41)).not.toEqual(NAN);
    expect(await colourOf(page, "strip-3-2", 5, 41)).not.toEqual(NAN);
    expect(problems).toEqual([]);
    await page.close();
  });

  it("of alerts: a click shows the steps and the tensor", async () => {
    const { page } = await open(browser, mock);
    await reached(page, 119);
    mock.step(data.NAN_STEP - 119);
    await page.click("text=NaN in hidden: 17 elements");
    await page.waitForSelector("[data-view=tensors][aria-selected=true]");
    expect(page.url()).toContain(`steps=${data.NAN_STEP - 25}-${data.NAN_STEP + 25}`);
    expect(page.url()).toContain(`step=${data.NAN_STEP}`);
    await page.close();
  });
});
