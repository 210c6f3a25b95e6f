import { rangeOf, type HeatData } from "../parts/heat_data";
import { cellsOf } from "../draw/raster";
import { isSymmetric } from "../scale/colours";
import { counted, short } from "../scale/format";
import { scaleFor } from "../scale/value_scale";
import type { Live } from "../store/live";

export interface StatisticsHeat extends HeatData {
  ids: number[];
  nan: number; // in the last step shown, over all tensors
  infinite: number;
}

/** Tensors of the family that have statistics, by layer and name. */
function idsShown(live: Live): number[] {
  const key = (id: number): string => {
    const tensor = live.tensors.get(id);
    return `${String((tensor?.layer ?? -1) + 1).padStart(9, "0")} ${tensor?.name ?? id}`;
  };
  return live.statistics.ids().sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Layers × steps shown, for one statistic. */
export function statisticsHeat(live: Live): StatisticsHeat | null {
  const { axis } = live.statistics;
  const [from, to] = live.shown(axis);
  const ids = idsShown(live);
  if (to <= from || ids.length === 0) return null;
  const { column } = live.url;
  const { values, isKnown } = live.statistics.matrix(ids, column, from, to);
  const steps = axis.steps.slice(from, to); // cell texts use the steps at the time of drawing, even if the axis has changed since
  const matrix = { rows: ids.length, columns: to - from, values, isKnown };
  const layers = ids.map((id) => live.tensors.get(id)?.layer ?? -1);
  const isByLayer = new Set(layers).size === layers.length && layers.every((layer) => layer >= 0);
  const nameOf = (row: number): string => live.tensors.get(ids[row])?.name ?? `tensor ${ids[row]}`;
  const sum = (name: string): number =>
    ids.reduce((total, id) => total + (live.statistics.value(id, name, to - 1) || 0), 0);
  const step = axis.lowerBound(live.url.step);
  return {
    cells: cellsOf(matrix),
    ids,
    scale: scaleFor(live.url.scale, rangeOf(matrix), isSymmetric(live.url.palette)),
    rowNames: ids.map((_, row) => (isByLayer ? String(layers[row]) : nameOf(row))),
    steps,
    marked:
      live.url.step >= 0 && step >= from && step < to && axis.steps[step] === live.url.step
        ? { row: -1, column: step - from }
        : undefined,
    nan: sum("nan"),
    infinite: sum("infinite"),
    describe: (row, index) => describe(live, ids[row], nameOf(row), layers[row], steps[index]),
  };
}

function describe(live: Live, id: number, name: string, layer: number, step: number): string {
  const { statistics } = live;
  const index = statistics.axis.find(step);
  const of = (column: string): number => statistics.value(id, column, index);
  const where = `${name}${layer >= 0 ? `, layer ${layer}` : ""}, step ${step}`;
  if (!(of("count") > 0)) return `${where}: not captured`;
  const numbers = ["min", "max", "mean", "norm"].filter((column) =>
    statistics.columns.includes(column),
  );
  const others = statistics.columns.filter(
    (column) => !numbers.includes(column) && !["count", "nan", "infinite"].includes(column),
  );
  const text = [...numbers, ...others].map((column) => `${column} ${short(of(column))}`).join(", ");
  return `${where}: ${text}; NaN ${counted(of("nan"))}, infinite ${counted(of("infinite"))} of ${counted(of("count"))}`;
}
