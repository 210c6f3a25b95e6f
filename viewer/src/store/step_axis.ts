// Steps in ascending order, with columns of values. When full, the oldest steps are removed, or every second one of the older half.

type Floats = Float32Array | Float64Array;
interface Column {
  width: number; // numbers for each step
  data: Floats;
}

/** Keeps every second of the first `half` entries, and all later ones. Returns the new number of entries. */
function thin(data: Floats, width: number, half: number, count: number): number {
  const kept = (half + 1) >> 1;
  for (let i = 1; i < kept; i++) data.copyWithin(i * width, 2 * i * width, (2 * i + 1) * width);
  data.copyWithin(kept * width, half * width, count * width);
  const left = kept + count - half;
  data.fill(NaN, left * width, count * width);
  return left;
}

/** Inserts gaps of NaN before the given positions (ascending) in `count` entries of `width` numbers. `data` must have space for them. */
function spread(data: Floats, width: number, count: number, places: number[]): void {
  let end = count;
  for (let i = places.length - 1; i >= 0; i--) {
    const from = places[i];
    data.copyWithin((from + i + 1) * width, from * width, end * width);
    data.fill(NaN, (from + i) * width, (from + i + 1) * width);
    end = from;
  }
}

export class StepAxis {
  steps = new Float64Array(64);
  count = 0;
  private columns: Column[] = [];

  /** most: limit of steps. keepsFirst: older steps are thinned, so that the first one stays. */
  constructor(
    private most: number,
    private readonly keepsFirst = false,
  ) {}

  /** Adds a column filled with NaN. Read it with columnData(), because it is reallocated when it grows. */
  addColumn(width: number, isDouble: boolean): number {
    const data = isDouble
      ? new Float64Array(this.steps.length * width)
      : new Float32Array(this.steps.length * width);
    this.columns.push({ width, data: data.fill(NaN) });
    return this.columns.length - 1;
  }
  columnData(column: number): Floats {
    return this.columns[column].data;
  }

  /**
   * Index of a step; adds the step if it is new. A late step is inserted, which moves later ones. -1: the axis is full and the step is
   * older than the oldest. An index is valid until the next step is placed.
   */
  place(step: number): number {
    if (this.count > 0 && step <= this.steps[this.count - 1]) {
      if (this.find(step) < 0) this.insert([step]);
      return this.find(step);
    }
    if (this.count >= this.most) this.giveWay(Math.max(1, this.most >> 3));
    this.reserve(this.count + 1);
    this.steps[this.count] = step;
    return this.count++;
  }

  /** Places several steps, moving later ones only once. Use find() for their indices. */
  placeAll(steps: ArrayLike<number>): void {
    const last = this.last();
    const late = new Set<number>();
    for (let i = 0; i < steps.length; i++)
      if (steps[i] < last && this.find(steps[i]) < 0) late.add(steps[i]);
    if (late.size > 0) this.insert([...late].sort((a, b) => a - b));
    for (let i = 0; i < steps.length; i++) if (!(steps[i] <= last)) this.place(steps[i]);
  }

  /** Index of the first step >= step; count if there is none. */
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

  /** Index of an existing step; -1: none. */
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
  /** Reduces the limit of steps, and frees memory. */
  limit(most: number): void {
    this.most = Math.max(16, most);
    if (this.count > this.most) this.giveWay(this.count - this.most);
    if (this.steps.length > 2 * this.most) this.resize(this.most);
  }

  /** late: new steps, ascending, each older than the last one. The oldest steps beyond the limit are dropped. */
  private insert(late: number[]): void {
    const missing = this.count + late.length - this.most;
    if (this.keepsFirst && missing > 0) this.giveWay(Math.min(missing, this.count));
    let [excess, old, skipped] = [this.count + late.length - this.most, 0, 0];
    for (; excess > 0; excess--) {
      if (skipped < late.length && late[skipped] < this.steps[old]) skipped++;
      else old++;
    }
    if (old > 0) this.forgetOldest(old);
    const fitting = late.slice(skipped);
    const places = fitting.map((step) => this.lowerBound(step));
    this.reserve(this.count + fitting.length);
    spread(this.steps, 1, this.count, places);
    fitting.forEach((step, i) => (this.steps[places[i] + i] = step));
    for (const { data, width } of this.columns) spread(data, width, this.count, places);
    this.count += fitting.length;
  }

  /** Removes this many steps, or slightly more. */
  private giveWay(steps: number): void {
    const most = this.count - steps;
    while (this.keepsFirst && this.count > Math.max(most, 4)) this.thinOlder();
    if (this.count > most) this.forgetOldest(this.count - most);
  }

  private thinOlder(): void {
    const half = this.count >> 1;
    for (const { data, width } of this.columns) thin(data, width, half, this.count);
    this.count = thin(this.steps, 1, half, this.count);
  }

  private forgetOldest(steps: number): void {
    this.steps.copyWithin(0, steps, this.count);
    for (const { data, width } of this.columns) {
      data.copyWithin(0, steps * width, this.count * width);
      data.fill(NaN, (this.count - steps) * width);
    }
    this.count -= steps;
  }

  private reserve(count: number): void {
    if (count > this.steps.length)
      this.resize(Math.max(count, Math.min(this.steps.length * 2, this.most)));
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
