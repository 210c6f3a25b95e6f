// Draws what has changed, for a few milliseconds in each screen refresh; the rest follows in the next one. Draws nothing while the page is
// hidden.

type Painter = () => void;
const BUDGET_MS = 4; // of script in a refresh, including reading
const KEPT = 200;

export class FrameLoop {
  private readonly painters = new Map<symbol, { topics: string[]; paint: Painter }>();
  private readonly dirty = new Set<symbol>(); // painters to run, longest waiting first
  private readonly painted = new Set<symbol>(); // painters that have run in this refresh
  private isAsked = false; // a refresh is requested or in progress
  private hasNews = false;
  private pendingMs = 0;
  private readMs = 0; // since the previous refresh
  private beganMs = 0;
  private readonly scriptMs: number[] = [];
  paused = false;

  /** drawn: called after everything received was drawn. */
  constructor(private readonly drawn: () => void) {}

  /** Calls the painter once soon, and whenever one of the topics is invalidated. Returns a function that removes it. */
  add(topics: string[], paint: Painter): { stop: () => void; now: () => void } {
    const key = Symbol(topics.join());
    this.painters.set(key, { topics, paint });
    const now = (): void => {
      this.dirty.add(key);
      this.ask();
    };
    now();
    return { stop: () => void (this.painters.delete(key), this.dirty.delete(key)), now };
  }

  /** Reports new data of a topic. scriptMs: time for reading it, which counts towards the next refresh. */
  invalidate(topic: string, scriptMs = 0): void {
    this.pendingMs += scriptMs;
    this.hasNews = true;
    for (const [key, { topics }] of this.painters) if (topics.includes(topic)) this.dirty.add(key);
    this.ask();
  }

  pause(isPaused: boolean): void {
    this.paused = isPaused;
    if (!isPaused) this.ask();
  }

  /** Whether a painter is waiting. */
  isBehind(): boolean {
    return this.dirty.size > 0;
  }

  /** Script time in ms of the latest refreshes that new data caused: median and 99th percentile. */
  cost(): { median: number; p99: number; frames: number } {
    const sorted = [...this.scriptMs].sort((a, b) => a - b);
    const at = (share: number): number =>
      sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : 0;
    return { median: at(0.5), p99: at(0.99), frames: sorted.length };
  }
  forgetCost(): void {
    this.scriptMs.length = 0;
  }

  private ask(): void {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => this.draw());
  }

  // While paused, new data is not drawn; changes by the user (e.g. of the cursor) are drawn from the existing data.
  private draw(): void {
    this.beganMs = performance.now();
    [this.readMs, this.pendingMs] = [this.pendingMs, 0];
    this.painted.clear();
    this.paintNext();
  }

  private spentMs(): number {
    return this.readMs + performance.now() - this.beganMs;
  }

  /** Charts and Vue finish their work in microtasks. The next painter is queued after them, so that their time is measured. */
  private paintNext(): void {
    const key = this.next();
    if (!key) return this.rest();
    this.dirty.delete(key);
    this.painted.add(key);
    try {
      this.painters.get(key)?.paint();
    } finally {
      queueMicrotask(() => this.paintNext());
    }
  }

  /** Runs each painter at most once in a refresh. A painter may invalidate others or itself, e.g. for a new color scale. */
  private next(): symbol | undefined {
    if (this.painted.size > 0 && this.spentMs() >= BUDGET_MS) return undefined;
    for (const key of this.dirty) if (!this.painted.has(key)) return key;
    return undefined;
  }

  private rest(): void {
    this.isAsked = false;
    if (this.isBehind()) this.ask();
    if (this.paused || !this.hasNews) return;
    this.scriptMs.push(this.spentMs());
    if (this.scriptMs.length > KEPT) this.scriptMs.shift();
    if (this.isBehind()) return;
    this.hasNews = false;
    this.drawn();
  }
}
