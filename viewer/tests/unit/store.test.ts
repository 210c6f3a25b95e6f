import { describe, expect, it } from "vitest";
import { readFrame, type Frame } from "../../src/protocol/frame";
import { CounterTable, MAX_SERIES } from "../../src/store/counter_table";
import { StatisticsTable } from "../../src/store/statistics_table";
import { StepTable } from "../../src/store/step_table";
import * as encode from "../mock_server/encode.js";

const frame = <F extends Frame>(kind: number, metadata: object, arrays: Buffer[]): F =>
  readFrame(
    new Uint8Array(
      encode.frame(kind, 0, 0, { panel: "p", step: 0, dropped: 0, ...metadata }, arrays),
    ).buffer as ArrayBuffer,
  ) as F;

const stepsFrame = (steps: number[], stepMs: number[][], mpiMs: number[][]) =>
  frame<Extract<Frame, { kind: 1 }>>(
    1,
    { steps: steps.length, ranks: stepMs[0].length, columns: ["step_ms", "mpi_ms", "own_ms"] },
    [
      encode.int64(steps),
      encode.float64(steps.map((step) => 1000 + step * 50)),
      encode.float32(stepMs.flat()),
      encode.float32(mpiMs.flat()),
      encode.float32(stepMs.flat().map(() => 0.5)),
    ],
  );

describe("times of steps", () => {
  const table = new StepTable();
  table.add(
    stepsFrame(
      [1, 2],
      [
        [10, 30, 20, 40],
        [5, 6, NaN, 7],
      ],
      [
        [1, 2, 3, 4],
        [0, 1, NaN, 2],
      ],
    ),
  );
  it("have the least, median and most of the ranks that are known", () => {
    expect([table.least()[0], table.median()[0], table.most()[0]]).toEqual([10, 25, 40]);
    expect([table.least()[1], table.median()[1], table.most()[1]]).toEqual([5, 6, 7]);
  });
  it("are compute and MPI time by rank", () => {
    const { values, isKnown } = table.matrix("compute", 0, 2);
    expect([...values]).toEqual([9, 5, 28, 5, 17, 0, 36, 5]);
    expect([...isKnown]).toEqual([1, 1, 1, 1, 1, 0, 1, 1]);
    expect([...table.matrix("mpi", 1, 2).values]).toEqual([0, 1, 0, 2]);
    expect(table.at(0, 3)).toEqual({ stepMs: 40, mpiMs: 4, ownMs: 0.5, computeMs: 36 });
    expect(table.means(0, 2).map(({ computeMs }) => computeMs)).toEqual([7, 16.5, 17, 20.5]);
  });
  it("begin with step 0", () => {
    const early = new StepTable();
    early.add(stepsFrame([-1, 0], [[9], [5]], [[0], [0]]));
    expect([early.count, early.axis.first()]).toEqual([1, 0]);
  });
  it("give steps a second, also where steps were left out", () => {
    const sparse = new StepTable();
    sparse.add(stepsFrame([0, 4, 8], [[1], [1], [1]], [[0], [0], [0]]));
    expect([sparse.rate(0, 10), sparse.rate(2, 10), sparse.rate(2, 1)]).toEqual([NaN, 20, 20]);
  });
  it("that come late are between the others, with their summary", () => {
    const late = new StepTable();
    late.add(
      stepsFrame(
        [4, 8],
        [
          [4, 6],
          [8, 9],
        ],
        [
          [1, 1],
          [1, 1],
        ],
      ),
    );
    late.add(
      stepsFrame(
        [2, 6, 8, 9],
        [
          [2, 3],
          [6, 7],
          [8, 9],
          [9, 10],
        ],
        [
          [0, 0],
          [1, 1],
          [1, 1],
          [1, 1],
        ],
      ),
    );
    expect([...late.axis.steps.subarray(0, late.count)]).toEqual([2, 4, 6, 8, 9]);
    expect([...late.least().subarray(0, late.count)]).toEqual([2, 4, 6, 8, 9]);
    expect([...late.most().subarray(0, late.count)]).toEqual([3, 6, 7, 9, 10]);
    expect([...late.matrix("compute", 0, 5).values]).toEqual([2, 3, 5, 7, 8, 3, 5, 6, 8, 9]);
  });
  it("of another number of ranks begin anew", () => {
    table.add(stepsFrame([0], [[1, 2]], [[0, 0]]));
    expect([table.ranks, table.count]).toEqual([2, 1]);
  });
});

describe("counters", () => {
  const counters = (steps: number[], ids: number[], values: number[]) =>
    frame<Extract<Frame, { kind: 2 }>>(2, { steps: steps.length, count: ids.length }, [
      encode.int64(steps),
      encode.uint32(ids),
      encode.float64(values),
    ]);
  it("are kept in the steps in which they were set, and found by name", () => {
    const table = new CounterTable();
    table.add(counters([1, 2], [7, 8], [0.5, NaN, 0.25, 4]));
    expect(table.matching("*")).toEqual([]);
    table.learn([
      { id: 7, name: "loss", rank: 0, unit: "" },
      { id: 8, name: "lr", rank: 1, unit: "" },
    ]);
    const [loss, lr] = table.matching("l*");
    expect([...loss.axis.steps.subarray(0, loss.axis.count)]).toEqual([1, 2]);
    expect([lr.axis.count, lr.axis.steps[0], lr.axis.columnData(lr.value)[0]]).toEqual([1, 2, 4]);
    expect(table.names()).toEqual(["loss", "lr"]);
    expect(table.lastStep()).toBe(2);
  });
  it("whose past comes behind newer values are as if it had come before", () => {
    const steps = Array.from({ length: 10000 }, (_, i) => i);
    const table = new CounterTable();
    table.learn([{ id: 7, name: "loss", rank: 0, unit: "" }]);
    for (const [from, to] of [
      [7000, 10000],
      [1024, 2048],
      [0, 1024],
      [2048, 7000],
    ])
      table.add(counters(steps.slice(from, to), [7], steps.slice(from, to).map(Math.sqrt)));
    const [{ axis, value }] = table.matching("loss");
    expect([...axis.steps.subarray(0, axis.count)]).toEqual(steps);
    expect([...axis.columnData(value).subarray(0, axis.count)]).toEqual(steps.map(Math.sqrt));
  });
  it("are bounded: of many fewer steps are kept, and of too many those that came first", () => {
    const table = new CounterTable();
    const steps = Array.from({ length: 9000 }, (_, i) => i);
    table.add(counters(steps, [0], steps));
    const ids = Array.from({ length: MAX_SERIES + 50 }, (_, i) => i);
    table.learn(
      ids.map((id) => ({ id, name: `c${String(id).padStart(5, "0")}`, rank: 0, unit: "" })),
    );
    table.add(counters([9000], ids, ids));
    const series = table.matching("*");
    expect(series.length).toBe(MAX_SERIES);
    const numbers = series.reduce(
      (sum, { axis, value }) => sum + axis.steps.length + axis.columnData(value).length,
      0,
    );
    expect(numbers).toBeLessThan(16 << 20);
    const { axis, value } = series[0];
    expect([axis.last(), axis.columnData(value)[axis.count - 2]]).toEqual([9000, 8999]);
    expect(axis.count).toBeGreaterThan(500);
  });
});

describe("statistics", () => {
  const statistics = (
    steps: number[],
    ids: number[],
    values: number[][],
    columns = ["count", "nan", "infinite", "norm"],
  ) =>
    frame<Extract<Frame, { kind: 3 }>>(3, { steps: steps.length, count: ids.length, columns }, [
      encode.int64(steps),
      encode.uint32(ids),
      ...values.map((column) => encode.float64(column)),
    ]);
  it("of more steps than are kept end as the newest", () => {
    const table = new StatisticsTable();
    table.axis.limit(20);
    for (const first of [0, 15]) {
      const steps = Array.from({ length: 15 }, (_, i) => first + i);
      table.add(
        statistics(steps, [4], [steps.map(() => 9), steps.map(() => 0), steps.map(() => 0), steps]),
      );
      table.axis.limit(20);
    }
    const { axis } = table;
    expect(axis.last()).toBe(29);
    for (let index = axis.lowerBound(15); index < axis.count; index++)
      expect(table.value(4, "norm", index)).toBe(axis.steps[index]);
  });
  it("mark cells with elements that are no numbers, and leave open those that were not told", () => {
    const table = new StatisticsTable();
    table.add(
      statistics(
        [1, 2],
        [4, 5],
        [
          [9, 9, 9, 9],
          [0, 0, 2, 0],
          [0, 0, 0, 1],
          [1.5, 2.5, 3.5, 4.5],
        ],
      ),
    );
    table.add(statistics([3], [5], [[9], [0], [0], [6.5]]));
    const { values, isKnown } = table.matrix([5, 4], "norm", 0, 3);
    expect([...values]).toEqual([2.5, Infinity, 6.5, 1.5, NaN, NaN]);
    expect([...isKnown]).toEqual([1, 1, 1, 1, 1, 0]);
    expect([...table.matrix([4], "nan", 0, 2).values]).toEqual([0, 2]);
    expect(table.value(5, "norm", 2)).toBe(6.5);
    expect(table.value(99, "norm", 0)).toBeNaN();
  });
  it("of a step that comes in two frames are those of both", () => {
    const table = new StatisticsTable();
    table.add(
      statistics(
        [1, 2],
        [4, 5],
        [
          [9, 8, 9, NaN],
          [0, 0, 0, NaN],
          [0, 0, 0, NaN],
          [1.5, 2.5, 3.5, NaN],
        ],
      ),
    );
    table.add(
      statistics(
        [2, 3],
        [4, 5],
        [
          [NaN, 8, 9, 8],
          [NaN, 0, 0, 0],
          [NaN, 0, 0, 0],
          [NaN, 4.5, 5.5, 6.5],
        ],
      ),
    );
    const { values, isKnown } = table.matrix([4, 5], "norm", 0, 3);
    expect([...values]).toEqual([1.5, 3.5, 5.5, 2.5, 4.5, 6.5]);
    expect([...isKnown]).toEqual([1, 1, 1, 1, 1, 1]);
    expect([1, 2, 3].map((step) => table.value(4, "count", table.axis.find(step)))).toEqual([
      9, 9, 9,
    ]);
  });
  it("are NaN where that was told: the count is what tells", () => {
    const table = new StatisticsTable();
    table.add(
      statistics(
        [1, 2],
        [4],
        [
          [9, 9],
          [0, 0],
          [0, 0],
          [1.5, 2.5],
        ],
      ),
    );
    table.add(
      statistics(
        [1, 2],
        [4],
        [
          [9, NaN],
          [9, 0],
          [0, 0],
          [NaN, 7.5],
        ],
      ),
    );
    expect([0, 1].map((index) => table.value(4, "norm", index))).toEqual([NaN, 2.5]);
    expect([0, 1].map((index) => table.value(4, "nan", index))).toEqual([9, 0]);
    expect([...table.matrix([4], "norm", 0, 2).isKnown]).toEqual([1, 1]);
  });
  it("without counts are told where any number is", () => {
    const table = new StatisticsTable();
    table.add(
      statistics(
        [1, 2],
        [4, 5],
        [
          [NaN, 1, 3, NaN],
          [NaN, 2, NaN, NaN],
        ],
        ["mean", "norm"],
      ),
    );
    table.add(
      statistics(
        [2],
        [4, 5],
        [
          [NaN, 5],
          [NaN, NaN],
        ],
        ["mean", "norm"],
      ),
    );
    const { values, isKnown } = table.matrix([4, 5], "norm", 0, 2);
    expect([...values]).toEqual([NaN, NaN, 2, NaN]);
    expect([...isKnown]).toEqual([0, 1, 1, 1]);
    expect([...table.matrix([4, 5], "mean", 0, 2).values]).toEqual([NaN, 3, 1, 5]);
    expect([...table.matrix([4, 5], "max", 0, 2).isKnown]).toEqual([0, 0, 0, 0]);
  });
  it("of a tensor whose name came late are in their steps, before those of others", () => {
    const told = (steps: number[], id: number) =>
      statistics(
        steps,
        [id],
        [
          steps.map(() => 9),
          steps.map(() => 0),
          steps.map(() => 0),
          steps.map((step) => step + id),
        ],
      );
    const table = new StatisticsTable();
    table.add(told([5, 6, 9], 4));
    table.add(told([2, 3, 5, 7, 10], 5));
    const { values, isKnown } = table.matrix([4, 5], "norm", 0, 7);
    expect([...table.axis.steps.subarray(0, 7)]).toEqual([2, 3, 5, 6, 7, 9, 10]);
    expect([...values]).toEqual([NaN, NaN, 9, 10, NaN, 13, NaN, 7, 8, 10, NaN, 12, NaN, 15]);
    expect([...isKnown]).toEqual([0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1]);
  });
});
