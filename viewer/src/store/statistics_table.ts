import type { StatisticsFrame } from "../protocol/frame";
import { StepAxis } from "./step_axis";

const MOST_STEPS = 10000;
const MOST_NUMBERS = 8 << 20;

/** Statistics of tensors over all ranks: of each tensor and column a number a step. */
export class StatisticsTable {
  readonly axis = new StepAxis(MOST_STEPS);
  columns: string[] = [];
  private readonly first = new Map<number, number>(); // id → its first column in the axis

  add(frame: StatisticsFrame): void {
    if (frame.columns.some((name) => !this.columns.includes(name))) {
      this.clear();
      this.columns = [...frame.columns];
    }
    this.makeRoom(frame.ids);
    this.axis.placeAll(frame.steps);
    const places = Array.from(frame.steps, (step) => this.axis.find(step)); // after all: the oldest may have given way
    const c = frame.ids.length;
    for (let t = 0; t < c; t++) {
      const first = this.first.get(frame.ids[t]) as number;
      frame.columns.forEach((name, k) => {
        const target = this.axis.columnData(first + this.columns.indexOf(name));
        const values = frame.values[k];
        for (let i = 0; i < places.length; i++) if (places[i] >= 0) target[places[i]] = values[i * c + t];
      });
    }
  }

  clear(): void {
    this.axis.clear();
    this.first.clear();
    this.columns = [];
  }

  has(id: number): boolean {
    return this.first.has(id);
  }
  ids(): number[] {
    return [...this.first.keys()];
  }
  /** NaN: not known. index: in the axis, or -1. */
  value(id: number, column: string, index: number): number {
    const first = this.first.get(id);
    const position = this.columns.indexOf(column);
    return first === undefined || position < 0 || index < 0 ? NaN : this.axis.columnData(first + position)[index];
  }

  /**
   * [ids.length][to - from] of one column. Where a tensor has elements that are no numbers the cell is NaN, or infinite, whatever the
   * column, unless it counts them; `isKnown` says which cells the ranks told.
   */
  matrix(ids: number[], column: string, from: number, to: number): { values: Float32Array; isKnown: Uint8Array } {
    const width = to - from;
    const values = new Float32Array(ids.length * width).fill(NaN);
    const isKnown = new Uint8Array(ids.length * width);
    const marks = column !== "nan" && column !== "infinite" && column !== "count";
    ids.forEach((id, row) => {
      const first = this.first.get(id);
      if (first === undefined) return;
      const of = (name: string) => this.axis.columnData(first + this.columns.indexOf(name));
      const data = of(column);
      const total = of("count");
      const nan = of("nan");
      const infinite = of("infinite");
      for (let i = 0; i < width; i++) {
        const index = from + i;
        const cell = row * width + i;
        if (!(total[index] > 0)) continue;
        isKnown[cell] = 1;
        if (marks && nan[index] > 0) values[cell] = NaN;
        else if (marks && infinite[index] > 0) values[cell] = Infinity;
        else values[cell] = data[index];
      }
    });
    return { values, isKnown };
  }

  private makeRoom(ids: Uint32Array): void {
    const before = this.first.size;
    for (const id of ids) if (!this.first.has(id)) this.first.set(id, this.columns.map(() => this.axis.addColumn(1, true))[0]);
    if (this.first.size === before) return;
    this.axis.limit(Math.min(MOST_STEPS, Math.floor(MOST_NUMBERS / (this.first.size * this.columns.length))));
  }
}
