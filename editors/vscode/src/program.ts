/** Where the `clearway` program is. A setting is authoritative, then the environment, then the PATH. */

import * as path from "node:path";

export type Found = { program: string; by: "setting" | "environment" | "path" } | { problem: string };

export interface Surroundings {
  setting: string;
  environ: Readonly<Record<string, string | undefined>>;
  windows: boolean;
  isProgram(file: string): boolean;
}

const INSTALL = "Install it with `uv tool install clearway`, or name it in the setting clearway.program.";

export function find(here: Surroundings): Found {
  const home = here.environ["HOME"] ?? here.environ["USERPROFILE"] ?? "";
  const named = here.setting.trim().replace(/^~(?=[/\\])/, home);
  if (named) {
    return path.isAbsolute(named) && here.isProgram(named)
      ? { program: named, by: "setting" }
      : { problem: `The setting clearway.program names ${named}, which is no program by its whole path. Correct it, or empty it.` };
  }
  const told = here.environ["CLEARWAY_PROGRAM"]?.trim();
  if (told) {
    return here.isProgram(told)
      ? { program: told, by: "environment" }
      : { problem: `CLEARWAY_PROGRAM names ${told}, which is no program.` };
  }
  const name = here.windows ? "clearway.exe" : "clearway";
  for (const folder of (here.environ["PATH"] ?? "").split(here.windows ? ";" : ":")) {
    // An empty or relative entry would mean the folder that is open: whoever wrote that could name our program.
    if (!path.isAbsolute(folder)) continue;
    const file = path.join(folder, name);
    if (here.isProgram(file)) return { program: file, by: "path" };
  }
  return { problem: `There is no clearway on the PATH. ${INSTALL}` };
}
