// Bundles the workbench into the package: node build.mjs [DIRECTORY]
import { build } from "esbuild";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = process.argv[2] ?? here("../spaseq/service/http/assets");

await build({
  absWorkingDir: here("."),
  entryPoints: { workbench: "src/main.tsx" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
});
await copyFile(here("index.html"), join(target, "index.html"));
