// A page with the mock server, in Debian's chromium. What a test reads are attributes data-*, which are part of the page.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { startMock } from "../mock_server/server.js";
import { CHROMIUM, drawn, watchedPage } from "./chromium.js";

export { CHROMIUM, cursorTo, drawn, launch } from "./chromium.js";

export const PAGE =
  process.env.MEGASCOPE_VIEWER_PAGE ??
  fileURLToPath(new URL("../../dist/index.html", import.meta.url));
export const missing = [CHROMIUM, PAGE].find((path) => !existsSync(path));

export type Mock = Awaited<ReturnType<typeof startMock>>;

export interface Opened {
  page: Page;
  problems: string[]; // what the console and the page complained of, and requests to others
}

/** Opens a server's page. hash: what stands behind the #. */
export async function open(
  browser: Browser,
  server: { url: string },
  hash = "",
  colorScheme: "dark" | "light" = "light",
): Promise<Opened> {
  const { page, problems } = await watchedPage(browser, new URL(server.url).origin, {
    colorScheme,
  });
  await page.goto(server.url + hash);
  await page.waitForSelector("[data-connection=connected]");
  return { page, problems };
}

export const mockOf = (options: object = {}): Promise<Mock> =>
  startMock({ page: PAGE, ...options });

/** Waits until the newest step on the page is this one, and it is drawn. */
export async function reached(page: Page, step: number): Promise<void> {
  await page.waitForFunction(
    (wanted) => document.querySelector("[data-last-step]")?.textContent === String(wanted),
    step,
  );
  await drawn(page);
}
/** The colour of a heatmap's cell, of its middle, as [red, green, blue]. */
export async function colourOf(
  page: Page,
  heat: string,
  row: number,
  column: number,
): Promise<number[]> {
  return page.evaluate(
    ([name, r, c]) => {
      const element = document.querySelector<HTMLElement>(`[data-heat="${name}"]`)!;
      const canvas = element.querySelector("canvas")!;
      const hasAxes = !String(name).startsWith("strip");
      const [left, bottom] = hasAxes ? [44, 18] : [0, 0];
      const x =
        left + ((Number(c) + 0.5) * (canvas.width - left)) / Number(element.dataset.columns);
      const y = ((Number(r) + 0.5) * (canvas.height - bottom)) / Number(element.dataset.rows);
      const one = document.createElement("canvas"); // not read from the page's own, which would make it slow
      one.width = one.height = 1;
      const context = one.getContext("2d", { willReadFrequently: true })!;
      context.drawImage(canvas, Math.floor(x), Math.floor(y), 1, 1, 0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
    },
    [heat, row, column] as const,
  );
}
