import type { ConnectionState } from "../connection/connection";
import type { Alert, Control, Run, Tensor } from "../protocol/messages";

export interface RankPlace {
  rank: number;
  host: string;
  pid: number;
  place: string;
}

/** The topic of a strip, in addition to allStrips(). */
export const stripTopic = (panel: string, key: string): string => `${panel} ${key}`;
/** The topic of all strips of a panel: their scale has changed. */
export const allStrips = (panel: string): string => `${panel} *`;

/** Small state that is shown as text. Values of steps and tensors are in tables, which Vue does not observe. */
export interface RunState {
  run: Run;
  control: Control;
  connection: ConnectionState;
  ended: { reason: string; steps: number; atMs: number } | null;
  verdict: string | null; // verdict on the run; "": none was made, null: not received
  alerts: Alert[];
  notices: { panel: string; text: string }[];
  drops: Record<string, number>; // reason → count, from the server
  dropped: Record<string, number>; // panel → frames replaced or not sent
  matchCount: Record<string, number>; // panel → number of matching tensors or counters
  places: RankPlace[];
  tensors: Tensor[];
  counterNames: string[];
  paused: boolean;
  lastStep: number;
  intervalMs: number; // 0: the application annotates steps
  lastFrameMs: number; // Date.now()
  frames: number;
  bytes: number;
}

/** The state of a run of which nothing was received yet. */
export const freshRun = (): Omit<RunState, "connection" | "paused"> => ({
  run: {},
  control: { generate: false, why: "" },
  ended: null,
  verdict: null,
  alerts: [],
  notices: [],
  drops: {},
  dropped: {},
  matchCount: {},
  places: [],
  tensors: [],
  counterNames: [],
  lastStep: -1,
  intervalMs: 0,
  lastFrameMs: 0,
  frames: 0,
  bytes: 0,
});
