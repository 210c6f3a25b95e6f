// Debian's chromium, and what every page in it has to keep to.

import { chromium } from "playwright-core";

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function launch() {
  const asRoot = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: CHROMIUM, args: [...asRoot, "--disable-gpu"] });
}

/** A page that is still empty, and problems: what its console and it complain of from now on, and requests to others than `origin`. */
export async function watchedPage(browser, origin, options = {}) {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 720 },
    colorScheme: "light",
    ...options,
  });
  const problems = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:"))
      problems.push(`asked for ${request.url()}`);
  });
  return { page, problems };
}

/** Puts a heatmap's cursor on a cell by the keyboard: from its last column, first row. */
export async function cursorTo(page, heat, row, columnsBack) {
  await page.focus(`[data-heat="${heat}"] canvas`);
  await page.keyboard.press("End");
  for (let i = 0; i < row; i++) await page.keyboard.press("ArrowDown");
  for (let i = 0; i < columnsBack; i++) await page.keyboard.press("ArrowLeft");
}

/** The page's loop of drawing, for evaluate(). */
export const loopOf = (page) =>
  page.evaluateHandle(() => {
    const { provides } = document.querySelector("#app").__vue_app__._context;
    return Object.getOwnPropertySymbols(provides)
      .map((key) => provides[key].loop)
      .find(Boolean);
  });

/** After what has come is drawn: a little later, and as many refreshes as that takes. */
export async function drawn(page) {
  await (
    await loopOf(page)
  ).evaluate(async (loop) => {
    const refresh = () => new Promise((resolve) => requestAnimationFrame(resolve));
    await new Promise((resolve) => setTimeout(resolve, 60));
    for (let quiet = 0; quiet < 2; quiet = loop.isBehind() ? 0 : quiet + 1) await refresh();
  });
}
