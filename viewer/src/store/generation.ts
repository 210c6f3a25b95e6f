import { shallowReactive } from "vue";
import type { Ask, ServerMessage } from "../protocol/messages";
import { readReply, type Candidate, type Reply, type Token } from "../protocol/replies";

/** asked: sent, no answer from the server yet; waiting: accepted by the server, not yet by the program; the last three are final. */
export type Phase = "none" | "asked" | "waiting" | "running" | "finished" | "failed" | "lost";

/** A token of the prompt, or a generated one. */
export interface Entry extends Token {
  chosen: { probability: number; logit: number; top: Candidate[] } | null; // null: part of the prompt
}

export interface GenerationState {
  phase: Phase;
  before: number; // number of requests that are processed first, while waiting
  problem: string; // why it failed or was lost
  ask: Ask | null;
  promptCount: number;
  count: number; // number of entries
  layers: number; // 0: unknown
  number: number; // number of the request, from 1; 0: none yet
  notice: string; // why a view of its attention could not be shown
}

const NONE: GenerationState = {
  phase: "none",
  before: 0,
  problem: "",
  ask: null,
  promptCount: 0,
  count: 0,
  layers: 0,
  number: 0,
  notice: "",
};

/** The generate request of this page and its results. One request at a time; answers to other requests are ignored. */
export class Generation {
  readonly state: GenerationState = shallowReactive({ ...NONE });
  readonly entries: Entry[] = []; // state.count of them; appended only
  /** Difference between the text's length in tokens and the number of the step that computed it; NaN: unknown. */
  lengthLessStep = NaN;
  private id = "";
  private isWatched = false;

  /** name: distinguishes this page's requests from those of others. */
  constructor(private readonly name = Math.random().toString(36).slice(2, 10)) {}

  isUnderWay(): boolean {
    return ["asked", "waiting", "running"].includes(this.state.phase);
  }
  /** Whether views of the computation are needed: until shortly after its end, because the last one arrives later. */
  wantsViews(): boolean {
    return this.isWatched;
  }
  stopWatching(): void {
    this.isWatched = false;
  }

  /** Resets the state. Returns the request's id. */
  begin(ask: Ask): string {
    const number = this.state.number + 1;
    this.entries.length = 0;
    this.lengthLessStep = NaN;
    Object.assign(this.state, NONE, { phase: "asked", ask, number });
    this.isWatched = true;
    return (this.id = `${this.name}-${number}`);
  }

  /** Processes an answer. True: it is the final one of this request. */
  receive(message: Extract<ServerMessage, { type: "reply" }>): boolean {
    if (message.id !== this.id || !this.isUnderWay()) return false;
    try {
      const reply = readReply(message);
      if (reply) this.take(reply);
    } catch (error) {
      this.fail(`The program's answer is malformed: ${(error as Error).message}.`);
    }
    return !this.isUnderWay();
  }

  /** Processes an error of the server about a panel or message; before the first answer it is about the request. */
  noticed(
    { type, panel, text }: { type: string; panel?: string; text: string },
    panels: string[],
  ): void {
    if (panel && panels.includes(panel)) this.state.notice = text;
    else if (type === "error" && !panel && this.state.phase === "asked") this.fail(text);
  }

  fail(problem: string, phase: "failed" | "lost" = "failed"): void {
    if (this.isUnderWay()) Object.assign(this.state, { phase, problem });
  }

  clear(): void {
    this.entries.length = 0;
    this.isWatched = false;
    this.id = "";
    Object.assign(this.state, NONE, { number: this.state.number });
  }

  private take(reply: Reply): void {
    const { state, entries } = this;
    switch (reply.kind) {
      case "waiting":
        Object.assign(state, { phase: "waiting", before: reply.before });
        return;
      case "start":
        entries.splice(
          0,
          entries.length,
          ...reply.prompt.map((token) => ({ ...token, chosen: null })),
        );
        Object.assign(state, {
          phase: "running",
          promptCount: entries.length,
          count: entries.length,
          layers: reply.layers,
        });
        return;
      case "token": {
        const { probability, logit, ...token } = reply.sampled;
        this.lengthLessStep = entries.length - reply.step;
        entries.push({ ...token, chosen: { probability, logit, top: reply.top } });
        Object.assign(state, { phase: "running", count: entries.length });
        return;
      }
      case "finish":
        state.phase = "finished";
        return;
      case "error":
        this.fail(reply.message);
    }
  }
}

/** The entry to show: the user's choice, or the newest. -1: there is none. */
export const entryShown = (chosen: number, count: number): number =>
  chosen >= 0 && chosen < count ? chosen : count - 1;
