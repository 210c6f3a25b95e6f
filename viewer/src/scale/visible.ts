import { short } from "./format";

// Tokens as visible text.

const SIGNS: Record<string, string> = { " ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };
const INVISIBLE = /[\p{C}\p{Z}\ufffd]/gu;

/**
 * A token's text with symbols for blanks and `\x07` for other invisible characters; "‹226›", its id, if it has no text or is part of a
 * character.
 */
export function visible({ id, text }: { id: number; text: string }): string {
  if (text === "" || text.includes("\ufffd")) return id >= 0 ? `‹${id}›` : "‹›";
  return text.replace(INVISIBLE, (sign) => SIGNS[sign] ?? escaped(sign.codePointAt(0) as number));
}

const escaped = (code: number): string =>
  code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;

/** For a column of a list: "0.3100", "1.2e−5". */
export function probability(value: number): string {
  if (Number.isNaN(value)) return "–";
  return value > 0 && value < 1e-3 ? value.toExponential(1).replace("-", "−") : value.toFixed(4);
}

/** For a list: two decimals. */
export const logit = (value: number): string =>
  Number.isFinite(value)
    ? value.toFixed(2).replace("-", "−")
    : Number.isNaN(value)
      ? "–"
      : short(value);

/** "“e”"; "?" for an unknown token. */
export const quoted = (token: { id: number; text: string } | undefined): string =>
  token ? `“${visible(token)}”` : "?";
