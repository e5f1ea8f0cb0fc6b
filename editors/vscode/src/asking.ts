/** Short questions to the product: one process at a time, JSON in and out, never longer than a moment. */

import { execFile, type ChildProcess } from "node:child_process";

/** What the product refuses, with its code and sentence. */
export class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export type Answer = Record<string, unknown>;
export type Run = (words: string[], seconds: number) => Promise<Answer>;

const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
export const ASK_SECONDS = 20;

export class Asking {
  private last: Promise<unknown> = Promise.resolve();
  private readonly children = new Set<ChildProcess>();
  private over = false;

  constructor(
    readonly program: string,
    readonly folder: string,
  ) {}

  /** Ask after what was asked before. */
  ask(words: string[], seconds = ASK_SECONDS): Promise<Answer> {
    const answer = this.last.then(() => this.run(words, seconds));
    this.last = answer.catch(() => undefined);
    return answer;
  }

  /** Ask at once: for a question that waits long. */
  run(words: string[], seconds: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.over) return reject(new Refused("INTERRUPTED", "The window is closing."));
      const child = execFile(
        this.program,
        ["--json", ...words],
        { cwd: this.folder, timeout: seconds * 1000, maxBuffer: ANSWER_BYTES_MAX, windowsHide: true },
        (error, out, err) => {
          this.children.delete(child);
          if (error) return reject(refusal(error, err));
          try {
            resolve(JSON.parse(out || "{}") as Answer);
          } catch {
            reject(new Refused("INTERNAL", `clearway ${words[0]} answered with something else than JSON.`));
          }
        },
      );
      child.stdin?.end();
      this.children.add(child);
    });
  }

  dispose(): void {
    this.over = true;
    for (const child of this.children) child.kill();
  }
}

function refusal(error: Error & { code?: unknown; killed?: boolean }, err: string): Refused {
  try {
    const told = JSON.parse(err) as { code?: unknown; message?: unknown };
    if (typeof told.code === "string" && typeof told.message === "string") return new Refused(told.code, told.message);
  } catch {
    // Not an answer of the product.
  }
  if (error.code === "ENOENT") return new Refused("NOT_INSTALLED", "The clearway program is gone.");
  if (error.killed) return new Refused("TIMEOUT", "clearway did not answer in time.");
  return new Refused("INTERNAL", (err.trim().split("\n").at(-1) ?? "") || error.message);
}
