import { gradientOf, INFINITE_COLOUR, NAN_COLOUR } from "../scale/colours";
import type { Live } from "../store/live";

/** The page's colors for canvases, read once for each theme. */
export interface Ink {
  text: string;
  faint: string;
  grid: string;
  accent: string;
  soft: string;
  empty: string;
  panel: string;
}

let ink: Ink | undefined;

export function inkNow(): Ink {
  if (!ink) {
    const style = getComputedStyle(document.documentElement);
    const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
    ink = {
      text: of("text"),
      faint: of("faint"),
      grid: of("grid"),
      accent: of("accent"),
      soft: of("accent-soft"),
      empty: of("empty"),
      panel: of("panel"),
    };
  }
  return ink;
}

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

function apply(live: Live): void {
  const { theme } = live.url;
  const isDark = theme === "dark" || (theme === "auto" && prefersDark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  const { style } = document.documentElement;
  style.setProperty("--palette", gradientOf(live.url.palette));
  style.setProperty("--nan", NAN_COLOUR);
  style.setProperty("--infinite", INFINITE_COLOUR);
  ink = undefined;
  live.loop.invalidate("theme");
}

/**
 * Follows the system's theme or the user's choice, and shows the color scale in the legends. Returns a function that applies the current
 * choice.
 */
export function followTheme(live: Live): () => void {
  prefersDark.addEventListener("change", () => apply(live));
  apply(live);
  return () => apply(live);
}
