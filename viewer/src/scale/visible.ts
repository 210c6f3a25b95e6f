// Tokens as a reader can see them.

const SIGNS: Record<string, string> = { " ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };
const INVISIBLE = /[\p{C}\p{Z}\ufffd]/gu;

/** A token's text without anything that can't be seen: signs for blanks, `\x07` for others; "‹226›", its id, where there is no text or part of a character. */
export function visible({ id, text }: { id: number; text: string }): string {
  if (text === "" || text.includes("\ufffd")) return id >= 0 ? `‹${id}›` : "‹›";
  return text.replace(INVISIBLE, (sign) => SIGNS[sign] ?? escaped(sign.codePointAt(0) as number));
}

const escaped = (code: number): string => (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`);

/** "0.31", "1.2e-5" for lists: three digits. */
export function probability(value: number): string {
  if (Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  return value < 1e-3 ? value.toExponential(1).replace("-", "−") : value.toPrecision(3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}
