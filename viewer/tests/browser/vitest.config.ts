import { defineConfig } from "vitest/config";

// One file after the other: the machine may have two cores.
export default defineConfig({
  test: {
    include: ["tests/browser/**/*.test.ts"],
    environment: "node",
    fileParallelism: false,
    testTimeout: 60000,
    hookTimeout: 60000,
  },
});
