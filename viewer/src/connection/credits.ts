// Credits to return to the server. A frame is paid for after it was drawn, so a slow page gets fewer frames (docs/live_protocol.md).

const MAX_FRAMES = 64; // in one message

export class Credits {
  private received = new Map<string, number>();
  private drawn = new Map<string, number>();

  /** Reports a frame of the panel. */
  arrived(panel: string): void {
    this.received.set(panel, (this.received.get(panel) ?? 0) + 1);
  }
  /** Reports that everything received so far was drawn. */
  allDrawn(): void {
    for (const [panel, frames] of this.received)
      this.drawn.set(panel, (this.drawn.get(panel) ?? 0) + frames);
    this.received.clear();
  }
  /** Resets the panel, because its subscription was replaced or ended and the server starts with its own credits. */
  forget(panel: string): void {
    this.received.delete(panel);
    this.drawn.delete(panel);
  }
  clear(): void {
    this.received.clear();
    this.drawn.clear();
  }
  /** Returns the credits to send, and clears them. */
  take(): { panel: string; frames: number }[] {
    const due = [...this.drawn].map(([panel, frames]) => ({
      panel,
      frames: Math.min(frames, MAX_FRAMES),
    }));
    this.drawn.clear();
    return due;
  }
}
