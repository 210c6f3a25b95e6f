// One drawing a screen refresh, of what has changed only; nothing while paused or hidden.

type Painter = () => void;
const KEPT = 200;

export class FrameLoop {
  private readonly painters = new Map<symbol, { topics: string[]; paint: Painter }>();
  private readonly dirty = new Set<symbol>();
  private isAsked = false;
  private hasNews = false;
  private pendingMs = 0;
  private readonly scriptMs: number[] = [];
  paused = false;

  /** drawn: told after everything that has come is on the screen. */
  constructor(private readonly drawn: () => void) {}

  /** Paints once now and whenever one of the topics is invalidated. Returns how to stop. */
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

  /** New data of a topic. scriptMs: what reading it took, which counts as the frame's. */
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

  /** Milliseconds of script of the last drawings that new data asked for: half and 99 of 100 took no longer. */
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

  private draw(): void {
    this.isAsked = false;
    const begin = performance.now();
    // While paused data waits; what the reader does (a cursor moved) is drawn all the same from what is there.
    for (let round = 0; round < 2 && this.dirty.size > 0; round++) {
      const now = [...this.dirty]; // painting may find that others are to be painted: a new colour scale
      this.dirty.clear();
      for (const key of now) this.painters.get(key)?.paint();
    }
    if (this.paused || !this.hasNews) return;
    this.hasNews = false;
    const readMs = this.pendingMs;
    this.pendingMs = 0;
    // Charts and Vue end their work in microtasks that were queued before this one.
    queueMicrotask(() => {
      this.scriptMs.push(readMs + performance.now() - begin);
      if (this.scriptMs.length > KEPT) this.scriptMs.shift();
      this.drawn();
    });
  }
}
