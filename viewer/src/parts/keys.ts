import type { Live } from "../store/live";
import { DEFAULTS, THEMES, VIEWS } from "../store/url_state";

/** The contents of the list of keys. */
export const KEYS = [
  { keys: ["1", "2", "3", "4"], text: "Run, Ranks, Tensors, Generate" },
  { keys: ["p", "Space"], text: "Pause: nothing is drawn, the server sends nothing more" },
  { keys: ["f"], text: "Follow the newest steps" },
  { keys: ["a"], text: "Show all stored steps" },
  { keys: ["[", "]"], text: "Previous step, next step" },
  { keys: ["Esc"], text: "Clear the selection of step and rank" },
  { keys: ["t"], text: "Theme: as the system, dark, light" },
  { keys: ["Tab"], text: "Next panel" },
  {
    keys: ["←", "↑", "→", "↓"],
    text: "In a heatmap: read a cell's value, with Shift ten cells further; Enter selects it",
  },
  {
    keys: ["←", "→", "Home", "End"],
    text: "In the tokens of a text: previous, next, first, newest; with Shift ten further",
  },
  { keys: ["Enter"], text: "In the prompt: generate; with Shift a new line" },
  { keys: ["c", "i"], text: "In a heatmap: save as a table (CSV), as an image (PNG)" },
  { keys: ["←", "→", "+", "−", "End"], text: "In the step bar: move, resize, newest" },
  { keys: ["?"], text: "This list" },
];

export function nextTheme(live: Live): void {
  live.url.theme = THEMES[(THEMES.indexOf(live.url.theme) + 1) % THEMES.length];
}

function moveStep(live: Live, by: number): void {
  const { axis } = live.steps;
  if (axis.count === 0) return;
  const at = live.url.step < 0 ? axis.count - 1 : axis.lowerBound(live.url.step) + by;
  live.url.step = axis.steps[Math.max(0, Math.min(axis.count - 1, at))];
}

function showAll(live: Live): void {
  const { axis } = live.steps;
  if (axis.count) live.url.steps = { from: axis.first(), to: axis.last() };
}

/** Handles a global key. False: the key has no meaning. */
export function pressed(live: Live, key: string): boolean {
  const view = VIEWS[Number(key) - 1];
  if (view) live.url.view = view;
  else if (key === "p" || key === " ") live.pause(!live.state.paused);
  else if (key === "f") live.url.steps = { ...DEFAULTS.steps };
  else if (key === "a") showAll(live);
  else if (key === "[") moveStep(live, -1);
  else if (key === "]") moveStep(live, 1);
  else if (key === "t") nextTheme(live);
  else if (key === "Escape") [live.url.step, live.url.rank] = [-1, -1];
  else return false;
  return true;
}
