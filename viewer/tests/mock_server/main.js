// npm run mock [-- port [steps a second [steps at once]]]: the built page with synthetic numbers.

import { fileURLToPath } from "node:url";
import { startMock } from "./server.js";

const [port = 8787, hz = 10, begin = 300] = process.argv.slice(2).map(Number);
const mock = await startMock({
  page: fileURLToPath(new URL("../../dist/index.html", import.meta.url)),
  port,
  token: "mock",
});
mock.step(begin);
mock.run(hz);
console.log(mock.url);
