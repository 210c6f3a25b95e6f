import type { StatisticsFrame } from "../protocol/frame";
import { StepAxis } from "./step_axis";

type Numbers = Float32Array | Float64Array;
const MAX_STEPS = 10000;
const MAX_NUMBERS = 8 << 20;

/** Statistics of tensors over all ranks: a number for each tensor, column and step. */
export class StatisticsTable {
  readonly axis = new StepAxis(MAX_STEPS);
  columns: string[] = [];
  private readonly first = new Map<number, number>(); // id → its first column in the axis

  add(frame: StatisticsFrame): void {
    if (frame.columns.some((name) => !this.columns.includes(name))) {
      this.clear();
      this.columns = [...frame.columns];
    }
    this.addTensors(frame.ids);
    this.axis.placeAll(frame.steps);
    const places = Array.from(frame.steps, (step) => this.axis.find(step)); // after placing all steps, which may remove the oldest
    frame.ids.forEach((id, t) => this.fill(this.first.get(id) as number, frame, t, places));
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
  /** NaN: unknown. index: in the axis, or -1. */
  value(id: number, column: string, index: number): number {
    const first = this.first.get(id);
    const position = this.columns.indexOf(column);
    return first === undefined || position < 0 || index < 0
      ? NaN
      : this.axis.columnData(first + position)[index];
  }

  /**
   * [ids.length][to - from] of one column. If a tensor has NaN or infinite elements, the cell is NaN or infinite for every column except
   * counts. `isKnown`: which cells have data.
   */
  matrix(
    ids: number[],
    column: string,
    from: number,
    to: number,
  ): { values: Float32Array; isKnown: Uint8Array } {
    const width = to - from;
    const values = new Float32Array(ids.length * width).fill(NaN);
    const isKnown = new Uint8Array(ids.length * width);
    const marks = column !== "nan" && column !== "infinite" && column !== "count";
    ids.forEach((id, row) => {
      const first = this.first.get(id);
      if (first === undefined) return;
      const of = (name: string): Numbers | undefined =>
        this.columns.includes(name)
          ? this.axis.columnData(first + this.columns.indexOf(name))
          : undefined;
      const data = of(column);
      if (!data) return;
      const [total, nan, infinite] = [of("count"), of("nan"), of("infinite")];
      const all = this.columns.map((name) => of(name) as Numbers);
      for (let i = 0; i < width; i++) {
        const index = from + i;
        const cell = row * width + i;
        const isCounted = total && !Number.isNaN(total[index]);
        if (isCounted ? !(total[index] > 0) : !all.some((numbers) => !Number.isNaN(numbers[index])))
          continue;
        isKnown[cell] = 1;
        if (marks && nan && nan[index] > 0) values[cell] = NaN;
        else if (marks && infinite && infinite[index] > 0) values[cell] = Infinity;
        else values[cell] = data[index];
      }
    });
    return { values, isKnown };
  }

  /**
   * Stores one tensor's cells, the `t`-th in the frame. A frame is a matrix of steps and tensors; cells without data are NaN, and earlier
   * values are kept. A cell has data if it has a count, or in a frame without counts, any number.
   */
  private fill(
    first: number,
    { columns, ids, values }: StatisticsFrame,
    t: number,
    places: number[],
  ): void {
    const counts = columns.indexOf("count");
    const telling = counts >= 0 ? [values[counts]] : values;
    const targets = columns.map((name) => this.axis.columnData(first + this.columns.indexOf(name)));
    for (let i = 0, cell = t; i < places.length; i++, cell += ids.length) {
      if (places[i] < 0 || telling.every((numbers) => Number.isNaN(numbers[cell]))) continue;
      for (let k = 0; k < targets.length; k++) targets[k][places[i]] = values[k][cell];
    }
  }

  private addTensors(ids: Uint32Array): void {
    const before = this.first.size;
    for (const id of ids)
      if (!this.first.has(id))
        this.first.set(id, this.columns.map(() => this.axis.addColumn(1, true))[0]);
    if (this.first.size === before) return;
    this.axis.limit(
      Math.min(MAX_STEPS, Math.floor(MAX_NUMBERS / (this.first.size * this.columns.length))),
    );
  }
}
