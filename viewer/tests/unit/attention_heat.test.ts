import { expect, it } from "vitest";
import type { TensorFrame } from "../../src/protocol/frame";
import { boxColours, PALETTES } from "../../src/scale/colours";
import { attentionOf } from "../../src/store/attention_views";
import type { Live } from "../../src/store/live";
import { DEFAULTS } from "../../src/store/url_state";
import { attentionHeat, entryOf, lookedAt, queryOf } from "../../src/views/attention_heat";

const NAN = NaN;
const INF = Infinity;

/** A page with the text "ab", of the prompt, and "c", and one view of it: heads of queries × keys. */
function liveWith(heads: number[][][], head = 0, chosen = -1, lengthLessStep = NaN): Live {
  const shape = [1, heads.length, heads[0].length, heads[0][0].length];
  const frame = {
    layer: 0,
    step: 4,
    shape,
    fullShape: shape,
    view: { type: "tile", tile_width: 1 },
    elements: Float32Array.from(heads.flat(2)),
    scale: 1,
  };
  const attention = attentionOf(frame as unknown as TensorFrame)!;
  const entries = [..."abc"].map((text, i) => ({
    id: text.charCodeAt(0),
    text,
    chosen: i < 2 ? null : { probability: 1, logit: 0, top: [] },
  }));
  return {
    url: { ...DEFAULTS, head, token: chosen },
    generation: { entries, lengthLessStep },
    attention: { of: (layer: number) => (layer === 0 ? attention : undefined) },
  } as unknown as Live;
}

it("leaves out what is masked: 0, −10000 and less behind the query, −∞ anywhere; what is no number is counted", () => {
  const heat = attentionHeat(
    liveWith([
      [
        [1, 0, 0],
        [2, 3, -10000],
        [-INF, NAN, INF],
      ],
      [
        [0, 0.5, -1],
        [0, 0, 0],
        [-20000, 0, 0],
      ],
    ]),
  )!;
  expect([...heat.matrix.isKnown!]).toEqual([1, 0, 0, 1, 1, 0, 0, 1, 1]);
  expect([heat.hasMasked, heat.nan, heat.infinite, heat.scale.low, heat.scale.high]).toEqual([
    true,
    1,
    1,
    1,
    3,
  ]);
  const second = attentionHeat(
    liveWith(
      [
        [
          [1, 0, 0],
          [2, 3, -10000],
          [-INF, NAN, INF],
        ],
        [
          [0, 0.5, -1],
          [0, 0, 0],
          [-20000, 0, 0],
        ],
      ],
      1,
    ),
  )!;
  expect([...second.matrix.isKnown!]).toEqual([1, 1, 1, 1, 1, 0, 1, 1, 1]);
  expect(second.describe(0, 2)).toBe("query “a” (0) → key “c” (2): −1");
  expect(second.describe(1, 2)).toBe("query “b” (1) → key “c” (2): 0, masked");
});

it("marks the row of a token: of a generated one where it was chosen", () => {
  const matrix = [
    [1, 0],
    [0.25, 0.75],
  ];
  const newest = liveWith([matrix]);
  const heat = attentionHeat(newest)!;
  expect([heat.marked, heat.rowNames, heat.columnNames]).toEqual([
    { row: 1, column: -1 },
    ["a", "b"],
    ["a", "b"],
  ]);
  expect(lookedAt(newest, heat)).toBe(
    "“c” (2) was chosen at “b” (1), which looks most at “b” (1) 0.75, “a” (0) 0.25",
  );
  const first = liveWith([matrix], 0, 0);
  expect(lookedAt(first, attentionHeat(first)!)).toBe("Query “a” (0) looks most at “a” (0) 1");
  expect([
    [0, 1, 2].map((entry) => queryOf(first, entry)),
    [0, 1].map((query) => entryOf(first, query)),
  ]).toEqual([
    [0, 1, 1],
    [0, 2],
  ]);
  const last = liveWith([[[0.25, 0.75]]], 0, 0); // only the newest query is computed
  expect([attentionHeat(last)!.marked, attentionHeat(liveWith([[[0.25, 0.75]]]))!.marked]).toEqual([
    undefined,
    { row: 0, column: -1 },
  ]);
});

it("begins where the model looks back to, as the step tells", () => {
  const live = liveWith(
    [
      [
        [0.25, 0],
        [0.5, 0.125],
      ],
    ],
    0,
    -1,
    3 - 4 - 1,
  ); // of the text's two first tokens: step 4 is of length 2
  expect(attentionHeat(live)).toMatchObject({ firstQuery: 0, firstKey: 0 });
  const later = liveWith([[[1]]], 0, -1, -2);
  expect(attentionHeat(later)).toMatchObject({
    firstQuery: 1,
    firstKey: 1,
    rowNames: ["b"],
    columnNames: ["b"],
    marked: { row: 0, column: -1 },
  });
  expect(attentionHeat(later)!.describe(0, 0)).toBe("query “b” (1) → key “b” (1): 1");
});

it("has no more heads than there are", () =>
  expect(attentionHeat(liveWith([[[1]], [[2]]], 7))!.head).toBe(1));

it.each(PALETTES)("a box of any colour of %s is readable", (palette) => {
  const luminance = (parts: number[]): number =>
    parts
      .map((part) =>
        part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
      )
      .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  for (let place = 0; place <= 1; place += 1 / 64) {
    const { background, color } = boxColours(palette, place);
    const [back, ink] = [
      luminance(background.match(/\d+/g)!.map(Number)),
      color === "#000" ? 0 : 1,
    ];
    expect((Math.max(back, ink) + 0.05) / (Math.min(back, ink) + 0.05), `${place}`).toBeGreaterThan(
      4.5,
    );
  }
});
