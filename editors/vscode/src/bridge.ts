/** What passes between the page in its frame and the host: four questions, about the rooms of this window. A message
 * names no address, method or header, so none can be forged; whatever else a frame says is refused. */

import { object, type Door } from "./door.ts";

export interface Passage {
  door: Pick<Door, "ask" | "rooms" | "events">;
  /** The rooms of this window, the one to show first before the others. */
  rooms: () => string[];
  say: (message: object) => void;
}

const GIVEN_CHARS_MAX = 1_000_000;
const OPEN_MAX = 64;
const STREAMS_MAX = 4;
const NUMBER_MAX = 2 ** 31;

export class Bridge {
  private readonly asked = new Set<number>();
  private readonly streams = new Map<number, () => void>();
  private over = false;

  constructor(private readonly passage: Passage) {}

  hear(message: unknown): void {
    const told = own(message);
    const { id, verb, room } = told;
    if (!isNumber(id, NUMBER_MAX)) return;
    if (verb === "stop") return this.stop(id);
    if (this.asked.has(id) || this.streams.has(id)) return;
    if (this.asked.size >= OPEN_MAX) return this.refuse(id, 429, "Too much is being asked at once.");
    if (verb === "rooms") return this.answer(id, this.rooms());
    if (typeof room !== "string" || !this.passage.rooms().includes(room)) {
      return this.refuse(id, 404, "This is no room of a folder of this window.");
    }
    if (verb === "events") return this.listen(id, room, told["since"]);
    const { operation, given } = told;
    if (verb !== "ask" || typeof operation !== "string" || !/^[a-z][a-z_]{0,63}$/.test(operation) || !isObject(given)) {
      return this.refuse(id, 400, "This is not asked from here.");
    }
    if (JSON.stringify(given).length > GIVEN_CHARS_MAX) return this.refuse(id, 413, "This is too long.");
    this.answer(id, this.passage.door.ask(room, operation, given));
  }

  /** A page begins in the frame: nobody hears the streams of the one before it any more. */
  begin(): void {
    for (const stop of this.streams.values()) stop();
    this.streams.clear();
  }

  dispose(): void {
    this.over = true;
    this.begin();
  }

  private answer(id: number, reply: Promise<{ status: number; body: string }>): void {
    this.asked.add(id);
    void reply.then(({ status, body }) => {
      this.asked.delete(id);
      if (!this.over) this.passage.say({ id, status, body });
    });
  }

  private listen(id: number, room: string, since: unknown): void {
    if (!isNumber(since, Number.MAX_SAFE_INTEGER)) return this.refuse(id, 400, "A stream begins after an event.");
    if (this.streams.size >= STREAMS_MAX) return this.refuse(id, 429, "Too many streams.");
    const { say } = this.passage;
    const stop = this.passage.door.events(room, since, {
      begun: () => this.streams.has(id) && say({ id, begun: true }),
      part: (part) => this.streams.has(id) && say({ id, part }),
      ended: ({ status, body }) => this.streams.delete(id) && say({ id, status, body }),
    });
    this.streams.set(id, stop);
  }

  private stop(id: number): void {
    const stop = this.streams.get(id);
    this.streams.delete(id);
    stop?.();
  }

  /** Of the rooms of this machine those of this window, in their order. */
  private async rooms(): Promise<{ status: number; body: string }> {
    const reply = await this.passage.door.rooms();
    if (reply.status !== 200) return reply;
    const { rooms } = object(reply.body);
    const known = Array.isArray(rooms) ? (rooms as unknown[]) : [];
    const ours = this.passage.rooms().flatMap((project) => known.filter((each) => own(each)["project"] === project));
    return { status: 200, body: JSON.stringify({ rooms: ours }) };
  }

  private refuse(id: number, status: number, message: string): void {
    this.passage.say({ id, status, body: JSON.stringify({ code: "INVALID_ARGUMENT", message }) });
  }
}

function own(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown, max: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= max;
}
