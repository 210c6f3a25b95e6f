import { rangeWithoutOutliers, type HeatData } from "../parts/heat_data";
import { cellsOf } from "../draw/raster";
import { duration } from "../scale/format";
import { isSymmetric } from "../scale/colours";
import { scaleFor } from "../scale/value_scale";
import type { Live } from "../store/live";

export type What = "compute" | "mpi";
export const TITLES: Record<What, string> = { compute: "Compute", mpi: "Time in MPI" };

export type RankHeat = HeatData & { isClipped: boolean };

/** The name of a row of the step table: an interval if the application annotates no steps. */
export const rowName = (live: Live): "step" | "interval" =>
  live.state.intervalMs ? "interval" : "step";

/** Ranks × steps shown. */
export function rankHeat(live: Live, what: What): RankHeat | null {
  const { axis, ranks } = live.steps;
  const [from, to] = live.shown(axis);
  if (to <= from || ranks === 0) return null;
  const { values, isKnown } = live.steps.matrix(what, from, to);
  const steps = axis.steps.slice(from, to); // cell texts use the steps at the time of drawing, even if the axis has changed since
  const range = rangeWithoutOutliers(values, isKnown);
  const step = live.url.step < 0 ? -1 : axis.lowerBound(live.url.step);
  const isShown = step >= from && step < to && axis.steps[step] === live.url.step;
  return {
    cells: cellsOf({ rows: ranks, columns: to - from, values, isKnown }),
    scale: scaleFor("linear", range, isSymmetric(live.url.palette)),
    isClipped: range.isClipped,
    rowNames: Array.from({ length: ranks }, (_, rank) => String(rank)),
    steps,
    marked: isShown ? { row: live.url.rank, column: step - from } : undefined,
    describe: (row, column) => {
      const times = live.steps.at(axis.find(steps[column]), row);
      return `rank ${row}, ${rowName(live)} ${steps[column]}: compute ${duration(times.computeMs)}, in MPI ${duration(times.mpiMs)}`;
    },
  };
}
