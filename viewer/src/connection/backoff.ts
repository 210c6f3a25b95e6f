// Delays between reconnection attempts: 0.5 s, doubled up to 15 s, each reduced by up to a quarter, so that pages do not reconnect at the
// same time.

export const FIRST_DELAY_MS = 500;
export const LONGEST_DELAY_MS = 15000;

/** Delay before attempt number `attempt` (from 0). random: 0 … 1. */
export function delayMs(attempt: number, random: number): number {
  const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt, 10));
  return Math.round(delay * (1 - random / 4));
}
