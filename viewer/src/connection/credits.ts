// Credits that are owed: a frame is paid for once it was drawn, so a slow page thins itself (docs/live_protocol.md).

const MOST_FRAMES = 64; // of one message

export class Credits {
  private received = new Map<string, number>();
  private drawn = new Map<string, number>();

  /** A frame of the panel has come. */
  arrived(panel: string): void {
    this.received.set(panel, (this.received.get(panel) ?? 0) + 1);
  }
  /** What had come of all panels is on the screen. */
  allDrawn(): void {
    for (const [panel, frames] of this.received) this.drawn.set(panel, (this.drawn.get(panel) ?? 0) + frames);
    this.received.clear();
  }
  /** A panel's subscription was replaced or ended: it begins anew with the server's credits. */
  forget(panel: string): void {
    this.received.delete(panel);
    this.drawn.delete(panel);
  }
  clear(): void {
    this.received.clear();
    this.drawn.clear();
  }
  /** Takes what is to be sent. */
  take(): { panel: string; frames: number }[] {
    const due = [...this.drawn].map(([panel, frames]) => ({ panel, frames: Math.min(frames, MOST_FRAMES) }));
    this.drawn.clear();
    return due;
  }
}
