// The program's answers to `generate` (docs/live_protocol.md), for the one prompt that this page sends. They are untrusted and validated
// completely.

import type { ServerMessage } from "./messages";

export interface Token {
  id: number; // -1: unknown
  text: string;
}

export interface Candidate extends Token {
  probability: number; // NaN: unknown
  logit: number; // NaN: unknown
}

export type Reply =
  | { kind: "waiting"; before: number }
  | { kind: "start"; prompt: Token[]; layers: number }
  | { kind: "token"; sampled: Candidate; top: Candidate[]; step: number } // step: in which it was computed; NaN: unknown
  | { kind: "finish"; text: string }
  | { kind: "error"; message: string };

export const MAX_CANDIDATES = 20;

type Fields = Record<string, unknown>;

/** The first prompt's entry of a field with one entry for each prompt. */
function first(message: Fields, field: string): unknown {
  const list = message[field];
  if (!Array.isArray(list) || list.length === 0)
    throw new Error(`${field} is not a list with one entry for each prompt`);
  return list[0];
}

function listOf<T>(value: unknown, what: string, read: (entry: unknown) => T): T[] {
  if (!Array.isArray(value)) throw new Error(`${what} is not a list`);
  return value.map(read);
}

const numberOr = (value: unknown, otherwise: number): number =>
  typeof value === "number" ? value : otherwise;

function readToken(value: unknown): Token {
  if (typeof value !== "object" || value === null)
    throw new Error(`a token is ${JSON.stringify(value)}`);
  const { id, token } = value as Fields;
  return { id: numberOr(id, -1), text: typeof token === "string" ? token : "" };
}

function readCandidate(value: unknown): Candidate {
  const { probability, logit } = (value ?? {}) as Fields;
  return {
    ...readToken(value),
    probability: numberOr(probability, NaN),
    logit: numberOr(logit, NaN),
  };
}

/** Parses an answer. Returns undefined for unknown kinds. Throws an error that describes what is malformed. */
export function readReply(message: Extract<ServerMessage, { type: "reply" }>): Reply | undefined {
  switch (message.reply) {
    case "waiting":
      return { kind: "waiting", before: numberOr(message.before, 0) };
    case "start":
      return {
        kind: "start",
        prompt: listOf(first(message, "prompts"), "the prompt", readToken),
        layers: numberOr(message.layers, 0),
      };
    case "token": {
      const top =
        message.top === undefined ? [] : listOf(first(message, "top"), "top", readCandidate);
      return {
        kind: "token",
        sampled: readCandidate(first(message, "sampled")),
        top: top.filter(({ id }) => id >= 0).slice(0, MAX_CANDIDATES),
        step: numberOr(message.step, NaN),
      };
    }
    case "finish":
      return {
        kind: "finish",
        text: Array.isArray(message.text) ? String(message.text[0] ?? "") : "",
      };
    case "error":
      return {
        kind: "error",
        message: typeof message.message === "string" ? message.message : "No reason was given.",
      };
    default:
      return undefined;
  }
}
