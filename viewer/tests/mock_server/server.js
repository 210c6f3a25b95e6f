// A server that speaks docs/live_protocol.md with synthetic numbers, for developing and testing the page.

import { readFileSync } from "node:fs";
import http from "node:http";
import { WebSocketServer } from "ws";
import * as data from "./data.js";
import { Generations } from "./generations.js";
import { Panel } from "./panels.js";

/** As plugin/live says it: the page needs nothing from outside. */
const policy = (host) =>
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; " +
  `connect-src 'self' ws://${host}; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export const WHY_NOT =
  "This program does not ask for requests: it never called megascope_request_poll so far.";

/**
 * Options: page (path of the HTML), token, port (0: any), ranks, layers, sequences, length, hidden, isStill (views are the same in every step), control (as in hello; generate: true answers requests, a token a step), window (tokens that are looked back at). Returns a handle: url, step(count) to
 * advance the run, run(hz) and stop(), cut() (loses all connections), refuse(isRefusing) (answers none), end(), close(), received
 * (messages of clients), credits(panel). intervals: the program begins no steps.
 */
export async function startMock(options = {}) {
  const settings = {
    token: "secret",
    port: 0,
    ranks: 4,
    layers: 4,
    sequences: 1,
    length: 64,
    hidden: 128,
    control: { generate: false, why: WHY_NOT },
    window: 1000,
    ...options,
  };
  const counters = [
    { id: 0, name: "loss", rank: 0, unit: "", value: data.loss },
    { id: 1, name: "gradient_norm", rank: 0, unit: "", value: data.gradientNorm },
    ...Array.from({ length: settings.ranks }, (_, rank) => ({
      id: 2 + rank,
      name: "tokens_per_s",
      rank,
      unit: "1/s",
      value: (step) => 1000 + 10 * rank + step,
    })),
  ];
  const model = {
    ...settings,
    still: settings.isStill ? new Map() : null,
    counters,
    tensors: data.tensorsOf(settings),
    generation: new Generations(settings.window),
  };
  const run = {
    run_id: "5eed0123456789ab",
    program: "build/release/bin/megascope-gpt",
    command: ["megascope-gpt", "--tp", "2", "--pp", "2"],
    ranks: settings.ranks,
    hosts: ["node1"],
    megascope: "0.1.0",
    running: true,
    control: settings.control,
    began_ms: Date.now() - 192_000,
    directory: "/scratch/me/megascope-17",
  };
  const clients = new Set();
  const received = [];
  let last = -1;
  let timer;
  let isRefusing = false;

  const answers = {
    "/api/v1/run": () => run,
    "/api/v1/ranks": () =>
      Array.from({ length: settings.ranks }, (_, rank) => ({
        rank,
        host: "node1",
        pid: 4000 + rank,
        place: `tp ${rank % 2}, pp ${rank >> 1}`,
      })),
    "/api/v1/tensors": () => model.tensors,
  };
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    const reply = (status, type, body) =>
      response
        .writeHead(status, {
          "Content-Type": type,
          "Cache-Control": "no-store",
          "Content-Security-Policy": policy(request.headers.host),
        })
        .end(body);
    if (isRefusing) return request.socket.destroy();
    if (url.searchParams.get("token") !== settings.token)
      return reply(401, "application/json", '{"error": "The token is wrong or missing."}');
    if (url.pathname === "/")
      return reply(200, "text/html; charset=utf-8", readFileSync(settings.page));
    const answer = answers[url.pathname];
    return answer
      ? reply(200, "application/json", JSON.stringify(answer()))
      : reply(404, "application/json", '{"error": "Unknown path."}');
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    const url = new URL(request.url, "http://localhost");
    if (isRefusing || url.pathname !== "/ws/v1" || url.searchParams.get("token") !== settings.token)
      return socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n");
    return sockets.handleUpgrade(request, socket, head, connected);
  });

  function connected(socket) {
    const client = { socket, panels: new Map(), frames: 0 };
    clients.add(client);
    const say = (message) => socket.send(JSON.stringify(message));
    const named = counters.map(({ id, name, rank, unit }) => ({ id, name, rank, unit }));
    say({ type: "hello", protocol: 1, megascope: "0.1.0", run, bounds: {} });
    say({ type: "tensors", tensors: model.tensors });
    say({ type: "counters", counters: named });
    socket.on("close", () => {
      clients.delete(client);
      model.generation.forget(say);
    });
    socket.on("message", (text) => {
      const message = JSON.parse(text.toString());
      received.push(message);
      if (message.type === "subscribe") {
        const panel = new Panel(message.panel, message, model);
        client.panels.set(message.panel, panel);
        say({ type: "subscribed", panel: message.panel, matches: panel.matched?.length ?? 0 });
        if (last >= 0) panel.stepped(last);
      } else if (message.type === "unsubscribe") client.panels.delete(message.panel);
      else if (message.type === "credit")
        client.panels.get(message.panel)?.addCredits(message.frames);
      else if (message.type === "request") model.generation.ask(message, say, run.control);
      else if (message.type === "ping") say({ type: "pong", id: message.id });
      flush(client);
    });
  }

  function flush(client) {
    for (const panel of client.panels.values())
      for (const frame of panel.due(last, () => client.frames++)) client.socket.send(frame);
  }
  function step(count = 1) {
    for (let i = 0; i < count; i++) {
      last++;
      model.generation.before();
      for (const client of clients) {
        for (const panel of client.panels.values()) panel.stepped(last);
        flush(client);
      }
      model.generation.after(last);
      if (last === data.NAN_STEP) {
        const tensor = model.tensors.find(
          ({ name, layer }) => name === "hidden" && layer === settings.layers - 1,
        );
        broadcast({
          type: "alert",
          step: last,
          ranks: [3],
          text: "NaN in hidden: 17 elements",
          tensor: tensor.id,
        });
      }
    }
  }
  const broadcast = (message) =>
    clients.forEach(({ socket }) => socket.send(JSON.stringify(message)));

  await new Promise((resolve) => server.listen(settings.port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/?token=${settings.token}`,
    received,
    model,
    step,
    broadcast,
    allow: () => {
      run.control = { generate: true };
      broadcast({ type: "control", generate: true });
    },
    run: (hz) => (timer = setInterval(step, 1000 / hz)),
    stop: () => clearInterval(timer),
    cut: () => clients.forEach(({ socket }) => socket.terminate()),
    refuse: (value) => (isRefusing = value),
    credits: (name) => [...clients].map(({ panels }) => panels.get(name)?.credits),
    /** The verdict, and with it the end of the connections, comes by conclude(). */
    beginEnd: () => {
      clearInterval(timer);
      broadcast({ type: "end", reason: "finished", steps: last + 1 });
    },
    conclude: (text) => {
      broadcast({ type: "verdict", text });
      clients.forEach(({ socket }) => socket.close(1000));
    },
    end: () => {
      clearInterval(timer);
      broadcast({ type: "end", reason: "finished", steps: last + 1 });
      clients.forEach(({ socket }) => socket.close(1000));
    },
    close: () => {
      clearInterval(timer);
      clients.forEach(({ socket }) => socket.terminate());
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
