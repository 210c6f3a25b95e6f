// Formats numbers for display.

/** Four significant digits: "1234", "0.01235", "1.235e-7", "NaN", "∞", "–" for unknown values. */
export function short(value: number | undefined): string {
  if (value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e6 || magnitude < 1e-3)
    return value
      .toExponential(3)
      .replace("e+", "e")
      .replace(/\.?0+e/, "e")
      .replace("-", "−")
      .replace("e-", "e−");
  const text = magnitude >= 1000 ? value.toFixed(0) : value.toPrecision(4);
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : text).replace("-", "−");
}

/** Like short(), but "not known" for NaN, because a measurement cannot be NaN. */
export const measured = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? "–" : short(value);

/** "3.21 ms", "1.2 s". */
export function duration(ms: number): string {
  if (Number.isNaN(ms)) return "–";
  return ms >= 10000 ? `${short(ms / 1000)} s` : `${short(ms)} ms`;
}

/** "12 %", "0.3 %". */
export const share = (value: number): string =>
  `${value >= 0.1 || value === 0 ? (value * 100).toFixed(0) : (value * 100).toPrecision(2)} %`;

/** "42 s", "3 min 12 s", "5 h 7 min". */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Three digits with a suitable unit: "1.24 s", "31.5 ms", "4.73 µs", "47 ns". */
export function time(ms: number): string {
  if (!(ms > 0)) return ms === 0 ? "0" : "–";
  const [factor, unit] =
    ms >= 1000 ? [1e-3, "s"] : ms >= 1 ? [1, "ms"] : ms >= 1e-3 ? [1e3, "µs"] : [1e6, "ns"];
  const text = (ms * factor).toPrecision(3);
  return `${ms * factor >= 99.95 ? (ms * factor).toFixed(0) : text.includes(".") ? text.replace(/\.?0+$/, "") : text} ${unit}`;
}

/** Integers with thin spaces: "12 345". */
export const counted = (value: number): string =>
  String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");

/** Round numbers within [low, high], at most `most` + 1 of them, at least `least` apart. */
export function ticks(low: number, high: number, most: number, least = 0): number[] {
  if (!(high > low)) return [low];
  const rough = Math.max(least, (high - low) / Math.max(1, most));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10]
    .map((factor) => factor * power)
    .find((candidate) => candidate >= rough) as number;
  const result: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12); i++) result.push(i * step);
  return result;
}

/** "12 KiB", "3.4 MiB". */
export function bytes(count: number): string {
  if (count < 1024) return `${Math.round(count)} B`;
  const power = Math.min(3, Math.floor(Math.log2(count) / 10));
  const value = count / 1024 ** power;
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ${["", "KiB", "MiB", "GiB"][power]}`;
}

/** "3 NaN, 2 infinite"; "" if there are none. */
export function noNumbers(nan: number, infinite: number): string {
  return [nan > 0 ? `${counted(nan)} NaN` : "", infinite > 0 ? `${counted(infinite)} infinite` : ""]
    .filter(Boolean)
    .join(", ");
}
