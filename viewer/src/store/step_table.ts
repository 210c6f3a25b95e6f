import type { StepsFrame } from "../protocol/frame";
import { StepAxis } from "./step_axis";

const MAX_STEPS = 10000;
const MAX_NUMBERS = 16 << 20; // over all ranks and columns

export interface RankTimes {
  stepMs: number;
  mpiMs: number;
  ownMs: number;
  computeMs: number;
}

/** Step times of all ranks, and minimum, median and maximum of each step. */
export class StepTable {
  readonly axis = new StepAxis(MAX_STEPS);
  ranks = 0;
  private names: string[] = [];
  private columns = new Map<string, number>();
  private began = -1;
  private summary = [-1, -1, -1]; // minimum, median, maximum of step_ms
  private sorted = new Float32Array(0);

  add(frame: StepsFrame): void {
    if (frame.ranks !== this.ranks || frame.columns.some((name) => !this.columns.has(name)))
      this.begin(frame);
    this.axis.placeAll(frame.steps.filter((step) => step >= 0)); // rows before the first step are ignored
    for (let i = 0; i < frame.steps.length; i++) {
      const index = this.axis.find(frame.steps[i]);
      if (index < 0) continue;
      this.axis.columnData(this.began)[index] = frame.beganMs[i];
      frame.columns.forEach((name, c) => {
        const target = this.axis.columnData(this.columns.get(name) as number);
        target.set(
          frame.values[c].subarray(i * this.ranks, (i + 1) * this.ranks),
          index * this.ranks,
        );
      });
      this.summarise(index);
    }
  }

  clear(): void {
    this.axis.clear();
    this.ranks = 0;
    this.columns.clear();
  }

  get count(): number {
    return this.axis.count;
  }
  beganMs(index: number): number {
    return this.axis.columnData(this.began)[index];
  }
  /** [count] of the steps' times over ranks. */
  least(): Float32Array | Float64Array {
    return this.axis.columnData(this.summary[0]);
  }
  median(): Float32Array | Float64Array {
    return this.axis.columnData(this.summary[1]);
  }
  most(): Float32Array | Float64Array {
    return this.axis.columnData(this.summary[2]);
  }

  /** NaN: unknown. index: in the axis, or -1. */
  at(index: number, rank: number): RankTimes {
    const of = (name: string): number => {
      const column = this.columns.get(name);
      return column === undefined || index < 0
        ? NaN
        : this.axis.columnData(column)[index * this.ranks + rank];
    };
    const stepMs = of("step_ms");
    const mpiMs = of("mpi_ms");
    return { stepMs, mpiMs, ownMs: of("own_ms"), computeMs: stepMs - mpiMs };
  }

  /** [ranks][to - from] of steps [from, to): time of computation, or in MPI, in ms. */
  matrix(
    what: "compute" | "mpi",
    from: number,
    to: number,
  ): { values: Float32Array; isKnown: Uint8Array } {
    const width = to - from;
    const values = new Float32Array(this.ranks * width);
    const isKnown = new Uint8Array(this.ranks * width);
    const step = this.columns.get("step_ms");
    const mpi = this.columns.get("mpi_ms");
    if (step === undefined || mpi === undefined) return { values, isKnown };
    const stepMs = this.axis.columnData(step);
    const mpiMs = this.axis.columnData(mpi);
    for (let i = 0; i < width; i++) {
      const base = (from + i) * this.ranks;
      for (let rank = 0; rank < this.ranks; rank++) {
        const inMpi = mpiMs[base + rank];
        const value = what === "mpi" ? inMpi : stepMs[base + rank] - inMpi;
        if (Number.isNaN(value)) continue;
        values[rank * width + i] = value;
        isKnown[rank * width + i] = 1;
      }
    }
    return { values, isKnown };
  }

  /** Mean of each rank over steps [from, to), without unknown values. */
  means(from: number, to: number): RankTimes[] {
    const { ranks } = this;
    const [stepMs, mpiMs, ownMs] = ["step_ms", "mpi_ms", "own_ms"].map((name) => {
      const column = this.columns.get(name);
      return column === undefined ? undefined : this.axis.columnData(column);
    });
    const mean = (rank: number, values: Float32Array | Float64Array | undefined): number => {
      let sum = 0;
      let known = 0;
      for (let i = from * ranks + rank; values && i < to * ranks; i += ranks) {
        if (Number.isNaN(values[i])) continue;
        sum += values[i];
        known++;
      }
      return known ? sum / known : NaN;
    };
    return Array.from({ length: ranks }, (_, rank) => {
      const times = {
        stepMs: mean(rank, stepMs),
        mpiMs: mean(rank, mpiMs),
        ownMs: mean(rank, ownMs),
      };
      return { ...times, computeMs: times.stepMs - times.mpiMs };
    });
  }

  /** Steps a second at a step, over up to `window` previous steps. NaN for the first. */
  rate(index: number, window: number): number {
    const from = Math.max(0, index - window);
    const ms = this.beganMs(index) - this.beganMs(from);
    return ms > 0 ? ((this.axis.steps[index] - this.axis.steps[from]) * 1000) / ms : NaN;
  }

  private begin(frame: StepsFrame): void {
    this.clear();
    this.ranks = frame.ranks;
    this.names = frame.columns;
    this.axis.limit(
      Math.min(MAX_STEPS, Math.floor(MAX_NUMBERS / Math.max(1, frame.ranks * this.names.length))),
    );
    for (const name of this.names) this.columns.set(name, this.axis.addColumn(frame.ranks, false));
    this.began = this.axis.addColumn(1, true);
    this.summary = [0, 1, 2].map(() => this.axis.addColumn(1, false));
  }

  private summarise(index: number): void {
    const column = this.columns.get("step_ms");
    if (column === undefined) return;
    if (this.sorted.length !== this.ranks) this.sorted = new Float32Array(this.ranks);
    const row = this.axis.columnData(column);
    let known = 0;
    for (let i = index * this.ranks; i < (index + 1) * this.ranks; i++) {
      if (!Number.isNaN(row[i])) this.sorted[known++] = row[i];
    }
    if (known === 0) return;
    const sorted = this.sorted.subarray(0, known).sort();
    const middle = known >> 1;
    this.axis.columnData(this.summary[0])[index] = sorted[0];
    this.axis.columnData(this.summary[1])[index] =
      known % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    this.axis.columnData(this.summary[2])[index] = sorted[known - 1];
  }
}
