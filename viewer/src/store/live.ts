import { inject, reactive, shallowReactive, watch, type InjectionKey } from "vue";
import { Connection, serverUrl, type ConnectionState } from "../connection/connection";
import { Credits } from "../connection/credits";
import { FrameLoop } from "../draw/frame_loop";
import type { CallsFrame, Frame } from "../protocol/frame";
import {
  controlOf,
  requestOf,
  type Alert,
  type Ask,
  type CaptureRequest,
  type Run,
  type ServerMessage,
  type Tensor,
} from "../protocol/messages";
import { AttentionViews } from "./attention_views";
import { CounterTable } from "./counter_table";
import { Generation } from "./generation";
import { StatisticsTable } from "./statistics_table";
import { StepTable } from "./step_table";
import { stripKey, TensorViews } from "./tensor_views";
import { freshRun, stripTopic, type RankPlace, type RunState } from "./run_state";
import { readUrl, writeUrl, type UrlState } from "./url_state";
import { ATTENTION_PANELS, captureRequestsFor, extraCredits } from "./capture_requests";

const CREDIT_INTERVAL_MS = 90; // servers accept 100 messages a second
const MAX_ALERTS = 200;
const LAST_VIEW_MS = 2500; // after a text is finished: views with missing parts are sent after 2 s

/** The model of the page: the connection, the tables that it fills, the user's choices, and the drawing loop. */
export class Live {
  readonly url: UrlState;
  readonly state: RunState;
  readonly steps = new StepTable();
  readonly counters = new CounterTable();
  readonly statistics = new StatisticsTable();
  readonly views = new TensorViews();
  readonly generation = new Generation();
  readonly attention = new AttentionViews();
  readonly tensors = new Map<number, Tensor>();
  calls: CallsFrame | null = null; // the newest, if the application annotates no steps
  readonly loop: FrameLoop;
  private readonly connection: Connection;
  private readonly credits = new Credits();
  private readonly subscribed = new Map<string, string>(); // panel → subscription that was sent
  private readonly waiting: Frame[] = []; // received while paused
  private readonly waitingReplies: Extract<ServerMessage, { type: "reply" }>[] = [];
  private creditTimer: ReturnType<typeof setTimeout> | undefined;
  private runId: unknown;

  constructor(private readonly page: Location) {
    this.url = reactive(readUrl(page.hash));
    this.state = shallowReactive({
      ...freshRun(),
      connection: { phase: "connecting", attempt: 0, retryAtMs: 0, reason: "" },
      paused: false,
    });
    this.loop = new FrameLoop(() => this.allDrawn());
    this.connection = new Connection(page, {
      state: (connection) => this.changed(connection),
      opened: () => this.opened(),
      message: (message) => this.take(message),
      frame: (frame, scriptMs) => this.arrived(frame, scriptMs),
    });
  }

  start(): void {
    watch(
      () => this.url.view,
      () => this.state.places.length < this.steps.ranks && void this.askPlaces(),
    );
    watch(
      () => this.url.attention,
      () => this.attention.clear(),
    );
    watch(this.url, () => {
      history.replaceState(null, "", this.page.pathname + this.page.search + writeUrl(this.url));
      this.sync();
      this.loop.invalidate("choice");
    });
    window.addEventListener("hashchange", () => Object.assign(this.url, readUrl(this.page.hash)));
    this.connection.start();
  }
  retryNow(): void {
    this.connection.retryNow();
  }

  pause(isPaused: boolean): void {
    this.state.paused = isPaused;
    if (!isPaused) this.applyWaitingReplies();
    if (!isPaused) for (const frame of this.waiting.splice(0)) this.show(frame, 0);
    this.loop.pause(isPaused);
    if (!isPaused) this.sendCredits(); // for what was drawn before; without credits nothing may arrive that would be drawn
  }

  /** Sends a generate request. Subscribes to its views first, so that both reach the ranks together. */
  generate(ask: Ask): void {
    const id = this.generation.begin(ask);
    this.attention.clear();
    this.url.token = -1;
    this.sync();
    if (!this.connection.send(requestOf(id, ask)))
      this.generation.fail("There is no connection to the run.");
    this.loop.invalidate("attention");
  }

  /** Indices [from, to) in an axis of the steps shown. */
  shown(axis: {
    count: number;
    last(): number;
    lowerBound(step: number): number;
  }): [number, number] {
    const range = this.url.steps;
    if ("last" in range) return [Math.max(0, axis.count - range.last), axis.count];
    return [axis.lowerBound(range.from), axis.lowerBound(range.to + 1)];
  }

  private changed(connection: ConnectionState): void {
    this.state.connection = connection;
    if (
      connection.phase === "connected" ||
      connection.phase === "connecting" ||
      !this.generation.isUnderWay()
    )
      return;
    this.applyWaitingReplies();
    this.generation.fail(
      "The connection was lost, and with it the rest of the text. Generate again.",
      "lost",
    );
    this.generation.stopWatching();
  }

  private opened(): void {
    this.credits.clear();
    this.subscribed.clear();
    this.waiting.length = 0;
    this.sync();
    void this.askPlaces();
  }

  /** Updates the server's subscriptions to those that the user's choices need. */
  private sync(): void {
    if (this.state.connection.phase !== "connected" || this.state.ended) return; // no more data will arrive; existing data is kept
    const requests = captureRequestsFor(
      this.url,
      this.state.tensors,
      this.generation.wantsViews(),
      this.state.intervalMs > 0,
    );
    for (const panel of [...this.subscribed.keys()]) {
      if (requests.has(panel)) continue;
      this.connection.send({ type: "unsubscribe", panel });
      this.subscribed.delete(panel);
      this.forget(panel);
    }
    for (const [panel, request] of requests) {
      const text = JSON.stringify(request);
      if (this.subscribed.get(panel) === text) continue;
      const isReplaced = this.subscribed.has(panel);
      this.subscribed.set(panel, text);
      if (isReplaced || request.what === "tensor" || request.what === "statistics")
        this.forget(panel);
      const since = this.since(request);
      this.connection.send({
        type: "subscribe",
        panel,
        ...request,
        ...(since > 0 ? { since } : {}),
      });
      const extra = extraCredits(panel, request);
      if (extra > 0) this.connection.send({ type: "credit", panel, frames: extra });
    }
  }

  /** After reconnecting, requests only data that is new. */
  private since(request: CaptureRequest): number {
    if (request.what === "steps") return this.steps.count ? this.steps.axis.last() + 1 : 0;
    return 0;
  }

  private forget(panel: string): void {
    this.credits.forget(panel);
    this.state.notices = this.state.notices.filter((notice) => notice.panel !== panel);
    if (panel === "statistics") this.statistics.clear();
    this.views.clear(panel);
    this.loop.invalidate(panel);
  }

  private arrived(frame: Frame, scriptMs: number): void {
    this.credits.arrived(frame.panel);
    if (this.state.paused) this.waiting.push(frame);
    else this.show(frame, scriptMs);
  }

  private show(frame: Frame, readMs: number): void {
    const begin = performance.now();
    if (!this.subscribed.has(frame.panel)) return;
    if (frame.kind === 1) {
      this.steps.add(frame);
      this.measuredBy(frame.intervalMs);
    } else if (frame.kind === 5) this.calls = frame;
    else if (frame.kind === 2) this.counters.add(frame);
    else if (frame.kind === 3) this.statistics.add(frame);
    else if (ATTENTION_PANELS.includes(frame.panel)) this.attention.add(frame, this.generation);
    else this.views.add(frame);
    const { state } = this;
    if (frame.kind !== 5 && frame.step > state.lastStep) state.lastStep = frame.step;
    if (state.dropped[frame.panel] !== frame.dropped)
      state.dropped = { ...state.dropped, [frame.panel]: frame.dropped };
    state.lastFrameMs = Date.now();
    state.frames++;
    state.bytes += frame.bytes;
    this.loop.invalidate(frame.panel, readMs + performance.now() - begin); // first, because the panel's scale is computed before it is used
    if (ATTENTION_PANELS.includes(frame.panel)) this.loop.invalidate("attention");
    else if (frame.kind === 4) this.loop.invalidate(stripTopic(frame.panel, stripKey(frame)));
  }

  /** Whether rows are steps or intervals determines the subscriptions. */
  private measuredBy(intervalMs: number): void {
    if (this.state.intervalMs === intervalMs) return;
    this.state.intervalMs = intervalMs;
    this.sync();
  }

  private applyReply(reply: Extract<ServerMessage, { type: "reply" }>): void {
    const begin = performance.now();
    const { generation } = this;
    if (generation.receive(reply))
      this.stopWatching(generation.state.phase === "finished" ? LAST_VIEW_MS : 0);
    this.loop.invalidate("attention", performance.now() - begin);
  }

  /** The computation no longer belongs to this page's request, but views may still arrive. */
  private stopWatching(afterMs: number): void {
    const { number } = this.generation.state;
    setTimeout(() => {
      if (this.generation.state.number !== number) return;
      this.generation.stopWatching();
      this.sync();
    }, afterMs);
  }

  private applyWaitingReplies(): void {
    for (const reply of this.waitingReplies.splice(0)) this.applyReply(reply);
  }

  private allDrawn(): void {
    this.credits.allDrawn();
    this.creditTimer ??= setTimeout(() => {
      this.creditTimer = undefined;
      if (!this.state.paused) this.sendCredits();
    }, CREDIT_INTERVAL_MS);
  }

  private sendCredits(): void {
    for (const { panel, frames } of this.credits.take()) {
      if (this.subscribed.has(panel)) this.connection.send({ type: "credit", panel, frames });
    }
  }

  private take(message: ServerMessage): void {
    const { state } = this;
    switch (message.type) {
      case "hello":
        return this.greeted(message.run ?? {});
      case "tensors":
        for (const tensor of message.tensors) this.tensors.set(tensor.id, tensor);
        state.tensors = [...this.tensors.values()];
        this.sync();
        return this.loop.invalidate("tensors");
      case "counters":
        this.counters.learn(message.counters);
        state.counterNames = this.counters.names();
        return this.loop.invalidate("counters");
      case "subscribed":
        state.matchCount = { ...state.matchCount, [message.panel]: message.matches };
        return;
      case "control":
        state.control = { generate: message.generate === true, why: "" };
        return;
      case "reply":
        if (state.paused) this.waitingReplies.push(message);
        else this.applyReply(message);
        return;
      case "notice":
      case "error":
        this.generation.noticed(message, ATTENTION_PANELS);
        state.notices = [
          ...state.notices,
          { panel: message.panel ?? "", text: message.text },
        ].slice(-20);
        return;
      case "alert":
        return this.warned(message);
      case "drops":
        state.drops = { ...state.drops, [message.reason]: message.count };
        return;
      case "end":
        state.ended = { reason: message.reason, steps: message.steps, atMs: Date.now() };
        this.applyWaitingReplies();
        this.generation.fail("The run ended before the text was finished.");
        return;
      case "verdict":
        state.verdict = typeof message.text === "string" ? message.text : "";
        return;
      case "pong":
    }
  }

  /** An alert that is repeated after reconnecting is stored once. */
  private warned(alert: Alert): void {
    const { alerts } = this.state;
    const isSame = (other: Alert): boolean =>
      other.step === alert.step && other.text === alert.text;
    if (!alerts.some(isSame))
      this.state.alerts = [{ ...alert, ranks: alert.ranks ?? [] }, ...alerts].slice(0, MAX_ALERTS);
  }

  /** Another run at this address: discards all data. */
  private greeted(run: Run): void {
    const id = run.run_id;
    if (this.runId !== undefined && id !== this.runId) {
      this.steps.clear();
      this.counters.clear();
      this.statistics.clear();
      this.views.clearAll();
      this.calls = null;
      this.attention.clear();
      this.generation.clear();
      this.tensors.clear();
      Object.assign(this.state, freshRun());
      this.subscribed.clear();
    }
    this.runId = id;
    this.state.run = run;
    this.state.control = controlOf(run);
    this.sync();
  }

  private async askPlaces(): Promise<void> {
    try {
      const answer = await fetch(serverUrl("/api/v1/ranks", this.page), { cache: "no-store" });
      const list: unknown = answer.ok ? await answer.json() : [];
      if (Array.isArray(list)) this.state.places = list as RankPlace[];
    } catch {
      // The page works without host names.
    }
  }
}

export const LIVE: InjectionKey<Live> = Symbol("live");

export function useLive(): Live {
  const live = inject(LIVE);
  if (!live) throw new Error("no Live was provided");
  return live;
}
