import type { Page } from "playwright-core";
import { drawn, type Mock } from "./page";

export const PROMPT = "Hi you";
export const phase = (page: Page, wanted: string) => page.waitForSelector(`[data-phase=${wanted}]`);
export const told = (page: Page) => page.innerText('[data-readout="attention"]');
export const shown = (page: Page) => page.getAttribute("[role=listbox]", "data-shown");

/** The program takes the request, and makes so many tokens of it. */
export async function made(mock: Mock, page: Page, tokens: number): Promise<void> {
  mock.step();
  await phase(page, "running");
  for (let i = 0; i < tokens; i++) {
    mock.step();
    await page.waitForSelector(`[data-attention-keys="${PROMPT.length + i}"]`);
  }
  await drawn(page);
}

export async function generated(mock: Mock, page: Page, tokens: number): Promise<void> {
  await page.fill("[data-prompt]", PROMPT);
  await page.keyboard.press("Enter");
  await phase(page, "waiting");
  await made(mock, page, tokens);
}
