import { interpolateCividis, interpolateViridis } from "d3-scale-chromatic";

// Color scales for people with red-green color blindness, as canvas pixels (0xAABBGGRR).

export type Palette = "viridis" | "cividis" | "blue-orange";
export const PALETTES: Palette[] = ["viridis", "cividis", "blue-orange"];
export const LEVELS = 256;

export const NAN_COLOUR = "#ff2fd0";
export const INFINITE_COLOUR = "#e8112d";
export const NAN_PIXEL = pixel(0xff, 0x2f, 0xd0);
export const INFINITE_PIXEL = pixel(0xe8, 0x11, 0x2d);
export const NOTHING_PIXEL = 0; // transparent: no value

function pixel(red: number, green: number, blue: number): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Parses "rgb(1, 2, 3)" or "#010203". */
function pixelOf(colour: string): number {
  const hex = /^#(..)(..)(..)$/.exec(colour);
  if (hex) return pixel(parseInt(hex[1], 16), parseInt(hex[2], 16), parseInt(hex[3], 16));
  const [red, green, blue] = (colour.match(/[\d.]+/g) ?? ["0", "0", "0"]).map((part) =>
    Math.round(Number(part)),
  );
  return pixel(red, green, blue);
}

/** Blue for negative, orange for positive values, near white between; equal lightness on both sides. */
function blueOrange(t: number): string {
  const ends = t < 0.5 ? [13, 72, 161] : [178, 74, 0];
  const strength = Math.abs(t - 0.5) * 2;
  const [red, green, blue] = ends.map((end, i) =>
    Math.round([246, 246, 244][i] + (end - [246, 246, 244][i]) * strength ** 0.85),
  );
  return `rgb(${red}, ${green}, ${blue})`;
}

const FUNCTIONS: Record<Palette, (t: number) => string> = {
  viridis: interpolateViridis,
  cividis: interpolateCividis,
  "blue-orange": blueOrange,
};
const tables = new Map<Palette, Uint32Array>();

/** [LEVELS] pixels. */
export function tableOf(palette: Palette): Uint32Array {
  let table = tables.get(palette);
  if (!table) {
    table = Uint32Array.from({ length: LEVELS }, (_, level) =>
      pixelOf(FUNCTIONS[palette](level / (LEVELS - 1))),
    );
    tables.set(palette, table);
  }
  return table;
}

/** CSS gradient for a legend, from left to right. */
export function gradientOf(palette: Palette): string {
  const stops = Array.from({ length: 17 }, (_, i) => FUNCTIONS[palette](i / 16));
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** Background color for position 0 … 1, and a readable text color. */
export function boxColours(palette: Palette, place: number): { background: string; color: string } {
  const level = Math.round(Math.min(1, Math.max(0, place)) * (LEVELS - 1));
  const bits = tableOf(palette)[level];
  const parts = [bits & 255, (bits >> 8) & 255, (bits >> 16) & 255];
  const light = parts
    .map((part) => (part / 255) ** 2.2)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  return { background: `rgb(${parts.join(", ")})`, color: light > 0.18 ? "#000" : "#fff" };
}

/** Whether the middle of the palette represents 0. */
export const isSymmetric = (palette: Palette): boolean => palette === "blue-orange";

/** Colors of chart lines by Okabe and Ito, readable on light and dark backgrounds. */
export const LINE_COLOURS = [
  "#0f8fd6",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#d55e00",
  "#7a7fe0",
  "#56b4e9",
  "#b3a100",
];
