import type uPlot from "uplot";
import type { LineData } from "../parts/line_chart.vue";
import { LINE_COLOURS } from "../scale/colours";
import type { Series } from "../store/counter_table";
import type { Live } from "../store/live";

const RATE_WINDOW = 10; // number of steps for a rate
const MAX_LINES = 8;

type Gappy = (number | null)[];

/** Values [from, to) for uPlot: null if unknown. */
function gaps(values: ArrayLike<number>, from: number, to: number): Gappy {
  const result = new Array<number | null>(to - from);
  for (let i = from; i < to; i++) result[i - from] = Number.isNaN(values[i]) ? null : values[i];
  return result;
}

/** The range of steps of all charts; undefined: that of the data. */
function spanOf(live: Live): [number, number] | undefined {
  const range = live.url.steps;
  if ("from" in range) return [range.from, range.to];
  const { axis } = live.steps;
  const [from, to] = live.shown(axis);
  return to - from > 1 ? [axis.steps[from], axis.steps[to - 1]] : undefined;
}

/** Step time: minimum, median and maximum over ranks. */
export function stepTimes(live: Live): LineData | null {
  const { steps } = live;
  const [from, to] = live.shown(steps.axis);
  if (to <= from) return null;
  const cut = (values: Float32Array | Float64Array): Gappy => gaps(values, from, to);
  return {
    lines: [
      { label: "least", colour: LINE_COLOURS[2], width: 1 },
      { label: "median", colour: LINE_COLOURS[0], width: 2 },
      { label: "most", colour: LINE_COLOURS[4], width: 1 },
    ],
    band: true,
    span: spanOf(live),
    data: [
      [...steps.axis.steps.subarray(from, to)],
      cut(steps.least()),
      cut(steps.median()),
      cut(steps.most()),
    ],
  };
}

/** Steps a second, over RATE_WINDOW steps. */
export function throughput(live: Live): LineData | null {
  const { steps } = live;
  const [from, to] = live.shown(steps.axis);
  if (to <= from || live.state.intervalMs) return null;
  const rates = new Float64Array(to - from);
  for (let i = from; i < to; i++) rates[i - from] = steps.rate(i, RATE_WINDOW);
  return {
    lines: [{ label: "steps/s", colour: LINE_COLOURS[5], width: 2 }],
    span: spanOf(live),
    data: [[...steps.axis.steps.subarray(from, to)], gaps(rates, 0, rates.length)],
  };
}

const nameOf = ({ counter }: Series, isOne: boolean): string =>
  isOne || counter.rank < 0 ? counter.name : `${counter.name} (rank ${counter.rank})`;

/** The mean of each value and the previous `count` − 1 ones, without unknown and non-finite values. */
export function smoothed(values: Gappy, count: number): Gappy {
  const recent: number[] = [];
  let sum = 0;
  return values.map((value) => {
    if (value === null || value - value !== 0) return value;
    recent.push(value);
    sum += value;
    if (recent.length > count) sum -= recent.shift() as number;
    return sum / recent.length;
  });
}

/** Positive values only, for a logarithmic axis. */
const positive = (values: Gappy): Gappy =>
  values.map((value) => (value !== null && value > 0 ? value : null));

/** Counters that match a pattern: a line each, at most MAX_LINES. A single counter also has its raw values behind the smoothed line. */
export function counters(live: Live, pattern: string): LineData | null {
  const series = live.counters.matching(pattern).slice(0, MAX_LINES);
  if (series.length === 0) return null;
  const spans = series.map((one) => live.shown(one.axis));
  const all = new Set<number>();
  series.forEach((one, i) => one.axis.steps.subarray(...spans[i]).forEach((step) => all.add(step)));
  const x = Float64Array.from(all).sort();
  if (x.length === 0) return null;
  const columns = series.map((one, i) => {
    const [from, to] = spans[i];
    const values = one.axis.columnData(one.value);
    const column = new Array<number | null>(x.length).fill(null);
    for (let k = 0, at = from; k < x.length && at < to; k++)
      if (one.axis.steps[at] === x[k]) column[k] = values[at++];
    return column;
  });
  const isOne = new Set(series.map(({ counter }) => counter.name)).size === series.length;
  const isLog = live.url.counterScale === "log";
  const isSmooth = live.url.smooth > 1;
  const lines = series.map((one, i) => ({
    label: isSmooth ? `${nameOf(one, isOne)} (mean of ${live.url.smooth})` : nameOf(one, isOne),
    colour: LINE_COLOURS[i % LINE_COLOURS.length],
    width: series.length > 1 ? 1.5 : 2,
  }));
  let drawn = isSmooth ? columns.map((column) => smoothed(column, live.url.smooth)) : columns;
  if (isSmooth && series.length === 1) {
    lines.push({ label: nameOf(series[0], isOne), colour: `${lines[0].colour}66`, width: 1 });
    drawn = [...drawn, columns[0]];
  }
  if (isLog) drawn = drawn.map(positive);
  return { lines, isLog, span: spanOf(live), data: [x, ...drawn] as unknown as uPlot.AlignedData };
}
