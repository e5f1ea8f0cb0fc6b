/** Follows one room: asks for all of it once, sleeps until its log goes on, and asks again. Silence costs nothing. */

import { ASK_SECONDS, Refused, type Asking } from "./asking.ts";
import { read, type State } from "./room.ts";

export const WAIT_SECONDS = 50;
const PAUSE_MS_MIN = 2_000;
const PAUSE_MS_MAX = 60_000;

export interface Sleeper {
  (milliseconds: number): Promise<void>;
}

export class Watch {
  state: State | undefined;
  problem: Refused | undefined;
  /** Whether there was an answer yet, be it that there is no room. */
  isKnown = false;
  private over = false;
  private pause = PAUSE_MS_MIN;
  private wake: () => void = () => undefined;

  constructor(
    private readonly asking: Pick<Asking, "ask" | "run">,
    private readonly changed: () => void,
    private readonly sleep: Sleeper,
  ) {}

  /** Until disposed. */
  async follow(): Promise<void> {
    while (!this.over) {
      if (await this.look()) {
        this.pause = PAUSE_MS_MIN;
        await this.wait();
      } else {
        await Promise.race([this.sleep(this.pause), new Promise<void>((wake) => (this.wake = wake))]);
        this.pause = Math.min(this.pause * 2, PAUSE_MS_MAX);
      }
    }
  }

  /** Ask now. Whether there is a room that answers. */
  async look(): Promise<boolean> {
    try {
      const status = await this.asking.ask(["status"]);
      if (!("project_id" in status)) {
        this.become(undefined, undefined);
        return false;
      }
      this.become(read(status, await this.asking.ask(["room"]), await this.asking.ask(["board"])), undefined);
      this.wake(); // a room was made just now: from here on its log is heard
      return true;
    } catch (error) {
      this.become(this.state, error instanceof Refused ? error : new Refused("INTERNAL", String(error)));
      return false;
    }
  }

  dispose(): void {
    this.over = true;
  }

  private async wait(): Promise<void> {
    const since = String(this.state?.latest ?? 0);
    try {
      const words = ["changes", "--since", since, "--limit", "1", "--wait-seconds", String(WAIT_SECONDS)];
      await this.asking.run(words, WAIT_SECONDS + ASK_SECONDS);
    } catch {
      await this.sleep(PAUSE_MS_MIN);
    }
  }

  private become(state: State | undefined, problem: Refused | undefined): void {
    if (this.over) return;
    this.isKnown = true;
    this.state = state;
    this.problem = problem;
    this.changed();
  }
}
