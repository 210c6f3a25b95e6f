import { rangeOf, type HeatData } from "../parts/heat_data";
import { elementAt } from "../protocol/half";
import { cellsOf, type Matrix } from "../draw/raster";
import { isSymmetric } from "../scale/colours";
import { short } from "../scale/format";
import { scaleFor } from "../scale/value_scale";
import { quoted, visible } from "../scale/visible";
import { lengthOf, type Attention } from "../store/attention_views";
import { entryShown } from "../store/generation";
import type { Live } from "../store/live";

const MASK = -10000; // values after the query are masked with this or less, with −∞, or for probabilities with 0

/** A head's matrix without masked values. */
interface HeadMatrix {
  attention: Attention;
  head: number;
  matrix: Matrix;
  range: ReturnType<typeof rangeOf>;
  hasMasked: boolean;
  nan: number;
  infinite: number;
}
/** Positions of the first query and the first key in the text. */
interface Positions {
  firstQuery: number;
  firstKey: number;
}
export type AttentionHeat = HeatData & HeadMatrix & Positions;

/** Position of the query of a token's row: for a generated token the query that predicted it, for a prompt token its own. */
export const queryOf = (live: Live, entry: number): number =>
  live.generation.entries[entry]?.chosen ? entry - 1 : entry;
/** The token of a query's row. */
export const entryOf = (live: Live, query: number): number =>
  live.generation.entries[query + 1]?.chosen ? query + 1 : query;

let made: HeadMatrix | undefined;

/** Created once for each frame and head. */
function matrixOf(attention: Attention, head: number): HeadMatrix {
  if (made?.attention === attention && made.head === head) return made;
  const { frame, queries, columns, keysAColumn, keys } = attention;
  const from = head * queries * columns;
  const values = new Float32Array(queries * columns);
  const isKnown = new Uint8Array(values.length).fill(1);
  let [hasMasked, nan, infinite] = [false, 0, 0];
  for (let query = 0, i = 0; query < queries; query++) {
    for (let column = 0; column < columns; column++, i++) {
      const value = elementAt(frame, from + i);
      values[i] = value;
      const isBehind = column * keysAColumn > keys - queries + query;
      if (value === -Infinity || (isBehind && (value === 0 || value <= MASK))) {
        isKnown[i] = 0;
        hasMasked = true;
      } else if (Number.isNaN(value)) nan++;
      else if (value === Infinity) infinite++;
    }
  }
  const matrix = { rows: queries, columns, values, isKnown };
  return (made = { attention, head, matrix, range: rangeOf(matrix), hasMasked, nan, infinite });
}

export const headShown = (live: Live, attention: Attention): number =>
  Math.min(live.url.head, attention.heads - 1);

/** Queries × keys of the selected layer and head, with the text's tokens. null: no view has arrived. */
export function attentionHeat(live: Live): AttentionHeat | null {
  const attention = live.attention.of(live.url.layer);
  if (!attention) return null;
  const head = matrixOf(attention, headShown(live, attention));
  const { matrix, range } = head;
  const { entries } = live.generation;
  const name = (position: number): string => (entries[position] ? visible(entries[position]) : "");
  const length = lengthOf(attention, live.generation);
  const [firstQuery, firstKey] = [length - attention.queries, length - attention.keys];
  const row = queryOf(live, entryShown(live.url.token, entries.length)) - firstQuery;
  return {
    ...head,
    firstQuery,
    firstKey,
    cells: cellsOf(matrix),
    scale: scaleFor(live.url.attentionScale, range, isSymmetric(live.url.palette)),
    rowNames: Array.from({ length: matrix.rows }, (_, i) => name(firstQuery + i)),
    columnNames: Array.from({ length: matrix.columns }, (_, i) =>
      name(firstKey + i * attention.keysAColumn),
    ),
    marked: row >= 0 && row < matrix.rows ? { row, column: -1 } : undefined,
    describe: (query, column) =>
      describe(live, { attention, matrix, firstQuery, firstKey }, query, column),
  };
}

const place = (live: Live, position: number): string =>
  `${quoted(live.generation.entries[position])} (${position})`;

type Seen = Pick<AttentionHeat, "attention" | "matrix" | "firstQuery" | "firstKey">;

function keysOf(
  live: Live,
  { attention: { keysAColumn, keys }, firstKey }: Seen,
  column: number,
): string {
  const first = column * keysAColumn;
  if (keysAColumn === 1) return place(live, firstKey + first);
  return `the largest of keys ${firstKey + first}–${firstKey + Math.min(keys, first + keysAColumn) - 1}`;
}

function describe(live: Live, seen: Seen, query: number, column: number): string {
  const { columns, values, isKnown } = seen.matrix;
  const at = query * columns + column;
  const masked = isKnown && !isKnown[at] ? ", masked" : "";
  return `query ${place(live, seen.firstQuery + query)} → key ${keysOf(live, seen, column)}: ${short(values[at])}${masked}`;
}

/** The largest weights in the row of the selected token: "“x” (7) was chosen at “w” (6), which looks most at “H” (0) 0.31, …". */
export function lookedAt(live: Live, heat: AttentionHeat): string {
  const { matrix, marked } = heat;
  const entry = entryShown(live.url.token, live.generation.entries.length);
  if (entry < 0) return "";
  const token = place(live, entry);
  if (!marked) return `${token} is not a query of the newest view.`;
  const row = Array.from({ length: matrix.columns }, (_, column) => column);
  const value = (column: number): number => matrix.values[marked.row * matrix.columns + column];
  const isKnown = (column: number): boolean =>
    !matrix.isKnown || matrix.isKnown[marked.row * matrix.columns + column] === 1;
  const most = row
    .filter((column) => isKnown(column) && !Number.isNaN(value(column)))
    .sort((a, b) => value(b) - value(a))
    .slice(0, 3);
  const query = queryOf(live, entry);
  const who =
    query === entry
      ? `Query ${token} looks`
      : `${token} was chosen at ${place(live, query)}, which looks`;
  return `${who} most at ${most.map((column) => `${keysOf(live, heat, column)} ${short(Number(value(column).toPrecision(3)))}`).join(", ")}`;
}
