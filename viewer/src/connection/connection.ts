import { parseMessage, type ClientMessage, type ServerMessage } from "../protocol/messages";
import { readFrame, type Frame } from "../protocol/frame";
import { delayMs } from "./backoff";

export type Phase = "connecting" | "connected" | "waiting" | "refused" | "ended" | "lost";

/** Consecutive attempts without an answer after which the run counts as lost: about 15 s. */
export const MAX_TRIES = 5;

export interface ConnectionState {
  phase: Phase;
  attempt: number; // attempts since the connection was lost
  retryAtMs: number; // in terms of Date.now(), if phase is waiting
  reason: string; // why the connection was refused, or the error in the last message
}

export interface ConnectionEvents {
  state(state: ConnectionState): void;
  opened(): void;
  message(message: ServerMessage): void;
  frame(frame: Frame, scriptMs: number): void;
}

/** The address of a path of the server of this page, with the access token. */
export function serverUrl(path: string, page: Location | URL): string {
  const token = new URL(page.href).searchParams.get("token");
  const url = new URL(path, page.href);
  url.hash = "";
  url.search = token === null ? "" : `?token=${encodeURIComponent(token)}`;
  return url.href;
}

/**
 * The WebSocket connection to the server. Reconnects when it is lost, until the run has ended (then only the verdict follows, and nothing
 * is sent), the server refuses the connection, or MAX_TRIES attempts had no answer.
 */
export class Connection {
  private socket: WebSocket | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private state: ConnectionState = { phase: "connecting", attempt: 0, retryAtMs: 0, reason: "" };
  private isEnded = false;

  constructor(
    private readonly page: Location | URL,
    private readonly events: ConnectionEvents,
  ) {}

  start(): void {
    clearTimeout(this.timer);
    this.become({ phase: "connecting" });
    const socket = new WebSocket(serverUrl("/ws/v1", this.page).replace(/^http/, "ws"));
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    let hasOpened = false;
    socket.onopen = () => {
      hasOpened = true;
      this.become({ phase: "connected", attempt: 0, reason: "" });
      this.events.opened();
    };
    socket.onmessage = (event) => this.take(event.data as string | ArrayBuffer);
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      if (this.isEnded) this.become({ phase: "ended" });
      else if (hasOpened) this.retry();
      else void this.askWhy();
    };
  }

  /** Reconnects at once. */
  retryNow(): void {
    if (this.socket) return;
    if (this.state.phase === "lost") this.become({ attempt: 0 });
    this.start();
  }

  /** False: there is no connection. */
  send(message: ClientMessage): boolean {
    if (this.isEnded || this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  stop(): void {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = undefined;
    socket?.close();
  }

  private take(data: string | ArrayBuffer): void {
    const begin = performance.now();
    try {
      if (typeof data === "string") {
        const message = parseMessage(data);
        if (!message) return;
        if (message.type === "end") this.isEnded = true;
        this.events.message(message);
      } else {
        const frame = readFrame(data);
        if (frame) this.events.frame(frame, performance.now() - begin);
      }
    } catch (error) {
      this.become({
        reason: `This page does not understand a message of the server: ${(error as Error).message}`,
      });
    }
  }

  /** Browsers do not report why a WebSocket handshake failed. Sends the same request without WebSocket to get the reason. */
  private async askWhy(): Promise<void> {
    try {
      const answer = await fetch(serverUrl("/api/v1/run", this.page), { cache: "no-store" });
      if (answer.status === 401 || answer.status === 403) {
        const body = (await answer.json().catch(() => ({}))) as { error?: string };
        this.become({
          phase: "refused",
          reason: body.error ?? `The server answered ${answer.status}.`,
        });
        return;
      }
      if (!answer.ok)
        this.become({ reason: ((await answer.json()) as { error?: string }).error ?? "" }); // the server is full, or the run has ended
    } catch {
      if (this.state.attempt >= MAX_TRIES) return this.become({ phase: "lost" });
    }
    this.retry();
  }

  private retry(): void {
    const delay = delayMs(this.state.attempt, Math.random());
    this.become({
      phase: "waiting",
      attempt: this.state.attempt + 1,
      retryAtMs: Date.now() + delay,
    });
    this.timer = setTimeout(() => this.start(), delay);
  }

  private become(change: Partial<ConnectionState>): void {
    this.state = { ...this.state, ...change };
    this.events.state(this.state);
  }
}
