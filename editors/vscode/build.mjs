// Bundles the extension, or with --tests its tests against a stand-in for the editor.
import { readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const tests = process.argv.includes("--tests");
const out = tests ? "dist/tests" : "dist";
if (tests) rmSync(out, { recursive: true, force: true });

await build({
  entryPoints: tests
    ? readdirSync("test").filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`)
    : ["src/extension.ts"],
  outdir: out,
  outExtension: { ".js": ".cjs" },
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  minify: !tests,
  sourcemap: tests ? "inline" : false,
  logLevel: "warning",
  ...(tests ? { alias: { vscode: "./test/editor.ts" } } : { external: ["vscode"] }),
});
