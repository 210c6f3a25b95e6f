import type { CountersFrame } from "../protocol/frame";
import type { Counter } from "../protocol/messages";
import { matches } from "../protocol/pattern";
import { StepAxis } from "./step_axis";

const MAX_STEPS = 10000;
export const MAX_SERIES = 4096;
const MAX_NUMBERS = 8 << 20; // in all series

export interface Series {
  counter: Counter;
  axis: StepAxis; // steps in which it was set
  value: number; // its column
}

/**
 * The application's counters: for each the steps in which it was set, and its values. In long runs, or with many counters, older steps are
 * thinned, so that curves keep their begin. Counters beyond MAX_SERIES are ignored.
 */
export class CounterTable {
  private readonly series = new Map<number, Series>();
  private readonly known = new Map<number, Counter>();
  private readonly unnamed = new Map<number, Series>(); // values that arrived before their names

  learn(counters: Counter[]): void {
    for (const counter of counters) {
      this.known.set(counter.id, counter);
      const series = this.unnamed.get(counter.id);
      if (!series) continue;
      series.counter = counter;
      this.series.set(counter.id, series);
      this.unnamed.delete(counter.id);
    }
  }

  add(frame: CountersFrame): void {
    const c = frame.ids.length;
    const reported: number[] = []; // rows in which the counter was set
    for (let column = 0; column < c; column++) {
      const series = this.seriesOf(frame.ids[column]);
      if (!series) continue;
      const { axis, value } = series;
      reported.length = 0;
      for (let i = 0; i < frame.steps.length; i++)
        if (!Number.isNaN(frame.values[i * c + column])) reported.push(i);
      axis.placeAll(reported.map((i) => frame.steps[i]));
      for (const i of reported) {
        const index = axis.find(frame.steps[i]);
        if (index >= 0) axis.columnData(value)[index] = frame.values[i * c + column];
      }
    }
  }

  clear(): void {
    this.series.clear();
    this.known.clear();
    this.unnamed.clear();
  }

  lastStep(): number {
    let last = NaN;
    for (const { axis } of this.series.values())
      if (axis.count && !(axis.last() <= last)) last = axis.last();
    return last;
  }
  names(): string[] {
    return [...new Set([...this.known.values()].map((counter) => counter.name))].sort();
  }
  /** Series with values whose counter matches the pattern, by name and rank. */
  matching(pattern: string): Series[] {
    return [...this.series.values()]
      .filter(({ counter, axis }) => axis.count > 0 && matches(pattern, counter.name))
      .sort((a, b) =>
        a.counter.name < b.counter.name
          ? -1
          : a.counter.name > b.counter.name
            ? 1
            : a.counter.rank - b.counter.rank,
      );
  }

  /** Undefined: the limit is reached. */
  private seriesOf(id: number): Series | undefined {
    const there = this.series.get(id) ?? this.unnamed.get(id);
    const count = this.series.size + this.unnamed.size;
    if (there || count >= MAX_SERIES) return there;
    const axis = new StepAxis(this.stepsKept(count + 1), true);
    const counter = this.known.get(id);
    const made = {
      counter: counter ?? { id, name: `counter ${id}`, rank: -1, unit: "" },
      axis,
      value: axis.addColumn(1, true),
    };
    (counter ? this.series : this.unnamed).set(id, made);
    if (this.stepsKept(count + 1) < this.stepsKept(count))
      for (const { axis: other } of this.all()) other.limit(this.stepsKept(count + 1));
    return made;
  }

  private stepsKept(series: number): number {
    let steps = MAX_STEPS;
    while (steps * series * 2 > MAX_NUMBERS) steps >>= 1; // a step and a value each; halved, so that older steps are rarely thinned
    return steps;
  }
  private all(): Series[] {
    return [...this.series.values(), ...this.unnamed.values()];
  }
}
