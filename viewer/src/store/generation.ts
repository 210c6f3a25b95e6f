import { shallowReactive } from "vue";
import type { Ask, ServerMessage } from "../protocol/messages";
import { readReply, type Candidate, type Reply, type Token } from "../protocol/replies";

/** asked: sent, the server has not answered; waiting: the server has it, the program not yet; the last three are ends. */
export type Phase = "none" | "asked" | "waiting" | "running" | "finished" | "failed" | "lost";

/** A token of the prompt, or one that was generated. */
export interface Entry extends Token {
  chosen: { probability: number; logit: number; top: Candidate[] } | null; // null: of the prompt
}

export interface GenerationState {
  phase: Phase;
  before: number; // requests that are done first, when waiting
  problem: string; // why failed, or lost
  ask: Ask | null;
  promptCount: number;
  count: number; // of entries
  layers: number; // 0: not told
  number: number; // of the request, from 1; 0: none so far
  notice: string; // why a view of its attention could not be shown
}

const NONE: GenerationState = { phase: "none", before: 0, problem: "", ask: null, promptCount: 0, count: 0, layers: 0, number: 0, notice: "" };

/** What this page asked the program to generate, and what came of it. One request at a time; answers to others are passed over. */
export class Generation {
  readonly state: GenerationState = shallowReactive({ ...NONE });
  readonly entries: Entry[] = []; // state.count of them; grows at the end
  /** A step's number and this are how many tokens the text had that it computed; NaN: the program does not tell. */
  lengthLessStep = NaN;
  private id = "";
  private isWatched = false;

  /** name: what tells this page's requests from those of others. */
  constructor(private readonly name = Math.random().toString(36).slice(2, 10)) {}

  isUnderWay(): boolean {
    return ["asked", "waiting", "running"].includes(this.state.phase);
  }
  /** Whether views of what it computes are wanted: until shortly after its end, as the last one comes behind it. */
  wantsViews(): boolean {
    return this.isWatched;
  }
  stopWatching(): void {
    this.isWatched = false;
  }

  /** Forgets what was. Returns the request's id. */
  begin(ask: Ask): string {
    const number = this.state.number + 1;
    this.entries.length = 0;
    this.lengthLessStep = NaN;
    Object.assign(this.state, NONE, { phase: "asked", ask, number });
    this.isWatched = true;
    return (this.id = `${this.name}-${number}`);
  }

  /** An answer. True: it is the end of ours. */
  hear(message: Extract<ServerMessage, { type: "reply" }>): boolean {
    if (message.id !== this.id || !this.isUnderWay()) return false;
    try {
      const reply = readReply(message);
      if (reply) this.take(reply);
    } catch (error) {
      this.fail(`The program's answer is not understood: ${(error as Error).message}.`);
    }
    return !this.isUnderWay();
  }

  /** What the server said of a panel, or of a message of ours: before the first answer that is the request. */
  noticed({ type, panel, text }: { type: string; panel?: string; text: string }, panels: string[]): void {
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
        entries.splice(0, entries.length, ...reply.prompt.map((token) => ({ ...token, chosen: null })));
        Object.assign(state, { phase: "running", promptCount: entries.length, count: entries.length, layers: reply.layers });
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

/** The entry that is shown: the reader's, or the newest. -1: there is none. */
export const entryShown = (chosen: number, count: number): number => (chosen >= 0 && chosen < count ? chosen : count - 1);
