import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Live } from "../../src/store/live";
import * as encode from "../mock_server/encode.js";

/** A WebSocket that a test speaks through. */
class FakeSocket {
  static readonly OPEN = 1;
  static last: FakeSocket;
  readyState = 1;
  sent: Record<string, unknown>[] = [];
  onopen?: () => void;
  onmessage?: (event: { data: unknown }) => void;
  constructor() {
    FakeSocket.last = this;
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }
  close(): void {}
  frame(step: number): void {
    const bytes = encode.frame(
      2,
      0,
      0,
      { panel: "counters", step, dropped: 0, steps: 1, count: 1 },
      [encode.int64([step]), encode.uint32([1]), encode.float64([5])],
    );
    this.onmessage?.({ data: new Uint8Array(bytes).buffer });
  }
  credits(): number {
    return this.sent
      .filter(({ type, panel }) => type === "credit" && panel === "counters")
      .reduce((sum, { frames }) => sum + Number(frames), 0);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("window", { addEventListener: () => undefined });
  vi.stubGlobal("history", { replaceState: () => undefined });
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => setTimeout(draw, 16));
  vi.stubGlobal("fetch", () => Promise.reject(new Error("there is no server")));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** When, ms after its frames came, the reader pauses: before they are drawn, before and after their credits are sent. */
it.each([0, 40, 300])(
  "goes on after a pause that began %d ms after all credits were used",
  async (delayMs) => {
    const page = {
      href: "http://127.0.0.1:1/?token=x",
      hash: "",
      pathname: "/",
      search: "?token=x",
    };
    const live = new Live(page as Location);
    live.start();
    const socket = FakeSocket.last;
    socket.onopen?.();
    for (const step of [1, 2]) socket.frame(step); // all that a subscription begins with
    await vi.advanceTimersByTimeAsync(delayMs);
    live.pause(true);
    await vi.advanceTimersByTimeAsync(1000);
    live.pause(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(socket.credits()).toBe(2);
  },
);
