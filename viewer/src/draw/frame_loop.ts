// Draws what has changed, in every screen refresh for a few milliseconds: the rest waits for the next one. Nothing while hidden.

type Painter = () => void;
const BUDGET_MS = 4; // of script in a refresh, reading included
const KEPT = 200;

export class FrameLoop {
  private readonly painters = new Map<symbol, { topics: string[]; paint: Painter }>();
  private readonly dirty = new Set<symbol>(); // who waits longest is first
  private readonly painted = new Set<symbol>(); // in this refresh
  private isAsked = false; // or under way
  private hasNews = false;
  private pendingMs = 0;
  private readMs = 0; // since the refresh before this one
  private beganMs = 0;
  private readonly scriptMs: number[] = [];
  paused = false;

  /** drawn: told after everything that has come is on the screen. */
  constructor(private readonly drawn: () => void) {}

  /** Paints once soon and whenever one of the topics is invalidated. Returns how to stop. */
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

  /** New data of a topic. scriptMs: what reading it took, which counts as the next refresh's. */
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

  /** Whether something waits to be painted. */
  isBehind(): boolean {
    return this.dirty.size > 0;
  }

  /** Milliseconds of script of the last refreshes that new data asked for: half and 99 of 100 took no longer. */
  cost(): { median: number; p99: number; frames: number } {
    const sorted = [...this.scriptMs].sort((a, b) => a - b);
    const at = (share: number): number => (sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : 0);
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

  // While paused data waits; what the reader does (a cursor moved) is drawn all the same from what is there.
  private draw(): void {
    this.beganMs = performance.now();
    [this.readMs, this.pendingMs] = [this.pendingMs, 0];
    this.painted.clear();
    this.paintNext();
  }

  private spentMs(): number {
    return this.readMs + performance.now() - this.beganMs;
  }

  /** Charts and Vue end their work in microtasks: the next painter comes behind those of this one, so that they count. */
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

  /** Each once a refresh at most, as painting may find that others, or the same, are to be painted: a new colour scale. */
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
