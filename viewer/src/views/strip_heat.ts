import type { HeatData } from "../parts/heat_data";
import { elementAt } from "../protocol/half";
import { cellsOf, pooledHalf, type Cells } from "../draw/raster";
import { short } from "../scale/format";
import type { ValueScale } from "../scale/value_scale";
import type { Live } from "../store/live";
import { unravel, type Strip } from "../store/tensor_views";

/** One tensor's view: tokens × tiles. */
export function stripHeat(
  live: Live,
  panel: string,
  key: string,
  scale: ValueScale,
): HeatData | null {
  const strip = live.views.strip(panel, key);
  if (!strip) return null;
  const { rows, columns } = strip.layout;
  const { elements: values, scale: unit } = strip.frame;
  const cells: Cells =
    values instanceof Float32Array
      ? cellsOf({ rows, columns, values })
      : {
          rows,
          columns,
          pooled: (maxRows, maxColumns) =>
            pooledHalf(values, unit, rows, columns, maxRows, maxColumns),
        };
  return { cells, scale, describe: (row, column) => describe(strip, row, column) };
}

function describe({ frame, layout }: Strip, row: number, column: number): string {
  const value = short(elementAt(frame, row * layout.columns + column));
  const place = unravel(row, layout.rowExtents);
  const token =
    place.length === 2
      ? `sequence ${place[0]}, token ${place[1]}`
      : place.length === 1
        ? `${frame.tensorKind.startsWith("actv") ? "token" : "row"} ${place[0]}`
        : "";
  const inner = unravel(column, layout.columnExtents);
  const tile = inner.pop() ?? 0;
  const outer = inner.length ? `[${inner.join(", ")}] ` : "";
  return [
    `${frame.name}, layer ${frame.layer}, step ${frame.step}`,
    token,
    `${outer}${elements(frame, tile)}: ${value}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** The elements of the last dimension in a tile. */
function elements({ view, fullShape, shape }: Strip["frame"], tile: number): string {
  const extent = fullShape.slice(shape.length - 1).reduce((a, b) => a * b, 1);
  const tiles = shape[shape.length - 1] ?? 0;
  if (view.type !== "tile" || tiles === 0 || extent <= tiles) return `element ${tile}`;
  const width = view.tile_width ?? Math.ceil(extent / (view.tiles ?? tiles));
  return `${(view.method ?? "").replace("(x)", "")} of elements ${tile * width}–${Math.min(extent, (tile + 1) * width) - 1}`;
}
