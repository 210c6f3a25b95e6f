// Requests to generate: one at a time, a token a step. Tokens are bytes. A prompt "fail" is answered with an error, "odd" with what is no answer.

import { generated } from "./data.js";

const MAX_WAITING = 8;

export class Generations {
  waiting = [];
  under = null; // { message, say, tokens, made }
  length = 0; // of what is computed in this step; 0: none

  ask(message, say, control) {
    const reply = (kind, fields) => say({ type: "reply", id: message.id, reply: kind, ...fields });
    if (!control.generate) return reply("error", { message: control.why });
    if (message.tokens > 1000000)
      return say({ type: "error", text: "`tokens` must be a number from 1 to 1048576." });
    if (this.waiting.length >= MAX_WAITING)
      return reply("error", { message: "8 requests are queued, which is the limit." });
    this.waiting.push({
      message,
      say,
      reply,
      tokens: [...Buffer.from(message.prompts[0])],
      made: 0,
    });
    return reply("waiting", { before: this.waiting.length - 1 + (this.under ? 1 : 0) });
  }
  forget(say) {
    this.waiting = this.waiting.filter((one) => one.say !== say);
    if (this.under?.say === say) this.under.reply = () => undefined;
  }
  /** window: how many tokens the model looks back at most. */
  constructor(window) {
    this.window = window;
  }
  /** A step begins: what is computed in it is of this text. */
  before() {
    this.length = this.under
      ? Math.min(this.window, this.under.tokens.length + this.under.made)
      : 0;
  }
  /** A step has ended: a token is made of it, or the next request begins. */
  after(step) {
    if (this.under) this.#goOn(this.under, step);
    else if (this.waiting.length) this.#begin(this.waiting.shift());
  }

  #begin(one) {
    const [prompt] = one.message.prompts;
    if (prompt === "fail") return one.reply("error", { message: "it was told to" });
    one.reply(
      "start",
      prompt === "odd"
        ? { prompts: "none" }
        : { prompts: [one.tokens.map((id) => ({ id, token: textOf(id) }))], layers: 4 },
    );
    this.under = one;
    return undefined;
  }
  #goOn(one, step) {
    const { sampled, top } = generated(one.made++);
    one.reply("token", { step, sampled: [sampled], top: [top] });
    if (one.made < one.message.tokens) return;
    one.reply("finish", { text: [one.message.prompts[0]] });
    this.under = null;
  }
}

/** A byte that is part of a character only is none. */
const textOf = (id) => (id < 128 ? String.fromCharCode(id) : "\ufffd");
