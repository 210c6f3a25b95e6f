// Steps in ascending order, with columns that lie beside them; the oldest give way when there are more than fit.

type Floats = Float32Array | Float64Array;
interface Column {
  width: number; // numbers a step
  data: Floats;
}

export class StepAxis {
  steps = new Float64Array(64);
  count = 0;
  private columns: Column[] = [];

  /** most: steps that are kept. */
  constructor(private most: number) {}

  /** Adds a column whose entries are NaN so far. Read it by columnData(): it moves when it grows. */
  addColumn(width: number, isDouble: boolean): number {
    const data = isDouble ? new Float64Array(this.steps.length * width) : new Float32Array(this.steps.length * width);
    this.columns.push({ width, data: data.fill(NaN) });
    return this.columns.length - 1;
  }
  columnData(column: number): Floats {
    return this.columns[column].data;
  }

  /** Index of a step: of the one that is there, or a new one behind all others. -1: older than what is there, and not there. */
  place(step: number): number {
    const last = this.count - 1;
    if (last >= 0 && step <= this.steps[last]) return this.find(step);
    if (this.count >= this.most) this.forgetOldest(Math.max(1, this.most >> 3));
    if (this.count === this.steps.length) this.grow();
    this.steps[this.count] = step;
    return this.count++;
  }

  /** Index of the first step >= step; count where there is none. */
  lowerBound(step: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.steps[middle] < step) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Index of a step that is there; -1: it is not. */
  find(step: number): number {
    const index = this.lowerBound(step);
    return index < this.count && this.steps[index] === step ? index : -1;
  }

  first(): number {
    return this.count ? this.steps[0] : NaN;
  }
  last(): number {
    return this.count ? this.steps[this.count - 1] : NaN;
  }
  clear(): void {
    this.count = 0;
    this.columns = [];
  }
  /** Keeps the newest so many from now on, and gives back the memory of more. */
  limit(most: number): void {
    this.most = Math.max(16, most);
    if (this.count > this.most) this.forgetOldest(this.count - this.most);
    if (this.steps.length > 2 * this.most) this.resize(this.most);
  }

  private forgetOldest(steps: number): void {
    this.steps.copyWithin(0, steps, this.count);
    for (const { data, width } of this.columns) {
      data.copyWithin(0, steps * width, this.count * width);
      data.fill(NaN, (this.count - steps) * width);
    }
    this.count -= steps;
  }

  private grow(): void {
    this.resize(Math.min(this.steps.length * 2, Math.max(this.most, this.count + 1)));
  }

  /** size: at least count. */
  private resize(size: number): void {
    const steps = new Float64Array(size);
    steps.set(this.steps.subarray(0, this.count));
    this.steps = steps;
    for (const column of this.columns) {
      const Type = column.data.constructor as Float64ArrayConstructor;
      const data = new Type(size * column.width).fill(NaN);
      data.set((column.data as Float64Array).subarray(0, this.count * column.width));
      column.data = data;
    }
  }
}
