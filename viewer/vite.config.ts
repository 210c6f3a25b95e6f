import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// One HTML file with everything in it. MEGASCOPE_VIEWER_OUT: the directory it is written to (dist).
export default defineConfig({
  plugins: [vue(), viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    outDir: process.env.MEGASCOPE_VIEWER_OUT ?? "dist",
    emptyOutDir: true,
    target: "es2020",
    modulePreload: false,
    reportCompressedSize: false,
  },
});
