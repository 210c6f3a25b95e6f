import { cellsOf } from "../draw/raster";
import { rangeOf, type HeatData } from "../parts/heat_data";
import type { CallsFrame, CallSums } from "../protocol/frame";
import { isSymmetric, type Palette } from "../scale/colours";
import { bytes, counted } from "../scale/format";
import { scaleFor } from "../scale/value_scale";

export interface FunctionRow {
  name: string;
  calls: number;
  timeMs: number;
  sent: number;
  received: number;
  ofLargest: number; // time relative to the first row
}

export interface RankShare {
  rank: number;
  mpiMs: number;
  share: number; // fraction of the recorded time
}

const MAX_FUNCTIONS = 40;
const MAX_RANKS = 64;
const WIDE_RANGE = 1000; // beyond it, a linear scale shows only the largest value

/** Called functions, by descending time. */
export function functionRows(
  names: string[],
  { calls, timeMs, sent, received }: CallSums,
): FunctionRow[] {
  const rows = names
    .map((name, i) => ({
      name,
      calls: calls[i],
      timeMs: timeMs[i],
      sent: sent[i],
      received: received[i],
      ofLargest: 0,
    }))
    .filter((row) => row.calls > 0);
  rows.sort((a, b) => b.timeMs - a.timeMs);
  const largest = rows[0]?.timeMs || 1;
  return rows.slice(0, MAX_FUNCTIONS).map((row) => ({ ...row, ofLargest: row.timeMs / largest }));
}

/** By rank; if there are too many, the ranks with the most time in MPI. */
export function rankShares({ elapsedMs, mpiMs }: CallsFrame): RankShare[] {
  const rows: RankShare[] = [];
  for (let rank = 0; rank < elapsedMs.length; rank++) {
    if (elapsedMs[rank] > 0)
      rows.push({ rank, mpiMs: mpiMs[rank], share: Math.min(1, mpiMs[rank] / elapsedMs[rank]) });
  }
  return rows.length <= MAX_RANKS
    ? rows
    : rows.sort((a, b) => b.share - a.share).slice(0, MAX_RANKS);
}

/** Bytes by sender and receiver; null: there are no messages. */
export function messageHeat(
  { bytesTo, messagesTo, cells, cellRanks, elapsedMs }: CallsFrame,
  palette: Palette,
): HeatData | null {
  const values = Float32Array.from(bytesTo);
  const isKnown = Uint8Array.from(messagesTo, (count) => (count > 0 ? 1 : 0));
  if (!isKnown.includes(1)) return null;
  const nameOf = (cell: number): string =>
    cellRanks === 1
      ? String(cell)
      : `${cell * cellRanks}–${Math.min(elapsedMs.length, (cell + 1) * cellRanks) - 1}`;
  const names = Array.from({ length: cells }, (_, cell) => nameOf(cell));
  const range = rangeOf({ rows: cells, columns: cells, values, isKnown });
  const isWide = range.most > WIDE_RANGE * range.leastMagnitude;
  const who = cellRanks === 1 ? "rank" : "ranks";
  return {
    cells: cellsOf({ rows: cells, columns: cells, values, isKnown }),
    scale: scaleFor(
      isWide ? "log" : "linear",
      { ...range, least: isWide ? range.least : 0 },
      isSymmetric(palette),
    ),
    rowNames: names,
    columnNames: names,
    describe: (row, column) => {
      const at = row * cells + column;
      return `${who} ${nameOf(row)} to ${who} ${nameOf(column)}: ${messagesTo[at] ? `${bytes(bytesTo[at])} in ${counted(messagesTo[at])} messages` : "nothing"}`;
    },
  };
}
