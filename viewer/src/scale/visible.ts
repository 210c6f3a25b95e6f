import { short } from "./format";

// Tokens as a reader can see them.

const SIGNS: Record<string, string> = { " ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };
const INVISIBLE = /[\p{C}\p{Z}\ufffd]/gu;

/** A token's text without anything that can't be seen: signs for blanks, `\x07` for others; "‹226›", its id, where there is no text or part of a character. */
export function visible({ id, text }: { id: number; text: string }): string {
  if (text === "" || text.includes("\ufffd")) return id >= 0 ? `‹${id}›` : "‹›";
  return text.replace(INVISIBLE, (sign) => SIGNS[sign] ?? escaped(sign.codePointAt(0) as number));
}

const escaped = (code: number): string => (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`);

/** Of a list below each other: "0.3100", "1.2e−5". */
export function probability(value: number): string {
  if (Number.isNaN(value)) return "–";
  return value > 0 && value < 1e-3 ? value.toExponential(1).replace("-", "−") : value.toFixed(4);
}

/** Of a list: two digits behind the point. */
export const logit = (value: number): string => (Number.isFinite(value) ? value.toFixed(2).replace("-", "−") : Number.isNaN(value) ? "–" : short(value));

/** "“e”"; of a token that is not known "?". */
export const quoted = (token: { id: number; text: string } | undefined): string => (token ? `“${visible(token)}”` : "?");
