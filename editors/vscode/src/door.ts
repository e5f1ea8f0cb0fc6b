/** The host of this machine, as a person asks it. The session lives here, in memory, and nowhere else: it is had for a
 * one-time link of the program, dropped as soon as the host was lost, and ended with the tab that shows the room. */

import * as http from "node:http";
import { StringDecoder } from "node:string_decoder";
import { Refused, type Answer } from "./asking.ts";

export interface Reply {
  status: number;
  body: string;
}

/** A stream of events, as its reader hears it. */
export interface Ear {
  begun(): void;
  part(text: string): void;
  ended(reply: Reply): void;
}

interface Session {
  port: number;
  cookie: string;
  key: string;
}

const HERE = "127.0.0.1";
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const ANSWER_MS_MAX = 90_000;
const PAUSE_MS_MIN = 2_000;
const PAUSE_MS_MAX = 30_000;

export class Door {
  /** Where the files of the page are; known when somebody was let in. */
  page = "";
  private session: Session | undefined;
  private coming: Promise<Session> | undefined;
  private failed: { error: unknown; until: number; pause: number } | undefined;
  private readonly open = new Set<http.ClientRequest>();
  private over = false;

  /** link: asks the program for a link, `clearway --json web`. */
  constructor(
    private readonly link: () => Promise<Answer>,
    private readonly now: () => number = Date.now,
  ) {}

  /** Be let in, unless one is. */
  async enter(): Promise<void> {
    await this.inside();
  }

  ask(room: string, operation: string, given: object): Promise<Reply> {
    return this.asked("POST", `/ask/${operation}`, room, JSON.stringify(given));
  }

  rooms(): Promise<Reply> {
    return this.asked("GET", "/rooms", "");
  }

  /** Hear the log of a room from an event on. Returns how to stop. */
  events(room: string, since: number, ear: Ear): () => void {
    let stopped = false;
    let request: http.ClientRequest | undefined;
    const listen = (session: Session) =>
      new Promise<Reply>((resolve, reject) => {
        if (stopped) return resolve({ status: 0, body: "" });
        request = this.begun(session, "GET", "/events", { ...named(room), "Last-Event-ID": String(since) }, (answer) => {
          if (answer.statusCode !== 200) return void whole(answer).then(resolve, reject);
          ear.begun();
          const text = new StringDecoder("utf8");
          answer.on("error", () => undefined); // a lost host: its end says so, too
          answer.on("data", (part: Buffer) => ear.part(text.write(part)));
          answer.on("close", () => {
            // The host has left, or was exchanged: whoever listens there now is let in by the program, or is nobody.
            if (!stopped) this.forget(session);
            resolve({ status: 200, body: "" });
          });
        });
        // Whoever stops before it began has lost no host.
        request.on("error", (error) => (stopped ? resolve({ status: 0, body: "" }) : reject(error))).end();
      });
    void this.withSession(listen).then((reply) => ear.ended(reply));
    return () => {
      stopped = true;
      request?.destroy();
    };
  }

  /** For good. */
  close(): Promise<void> {
    this.over = true;
    return this.leave();
  }

  /** End the session, and whatever is being asked; who asks again is let in anew. */
  async leave(): Promise<void> {
    const { session } = this;
    this.forget(session);
    for (const request of this.open) request.destroy();
    if (!session) return;
    await new Promise<void>((done) => {
      const request = this.begun(session, "DELETE", "/session", {}, (answer) => {
        answer.resume();
        done();
      });
      request.on("error", () => done()).setTimeout(1_000, () => request.destroy());
      request.end();
    });
  }

  private asked(method: string, path: string, room: string, body = ""): Promise<Reply> {
    return this.withSession(
      (session) =>
        new Promise<Reply>((resolve, reject) => {
          const request = this.begun(session, method, path, named(room), (answer) => void whole(answer).then(resolve, reject));
          request.on("error", reject).setTimeout(ANSWER_MS_MAX, () => request.destroy());
          request.end(body);
        }),
    );
  }

  /** Ask as whoever was let in. What certainly was not done is asked once more, in a new session. */
  private async withSession(ask: (session: Session) => Promise<Reply>): Promise<Reply> {
    for (let last = false; ; last = true) {
      let session: Session;
      try {
        session = await this.inside();
      } catch (error) {
        return told(error);
      }
      try {
        const reply = await ask(session);
        if (reply.status !== 401 || last) return reply;
      } catch (error) {
        this.forget(session);
        if (last || (error as NodeJS.ErrnoException).code !== "ECONNREFUSED") return { status: 0, body: "" };
      }
      this.forget(session);
    }
  }

  private async inside(): Promise<Session> {
    if (this.over) throw new Refused("INTERRUPTED", "The window is closing.");
    if (this.session) return this.session;
    if (this.failed && this.now() < this.failed.until) throw this.failed.error;
    this.coming ??= this.come().finally(() => (this.coming = undefined));
    return this.coming;
  }

  private async come(): Promise<Session> {
    try {
      const { url, page } = await this.link();
      const { port, ticket } = place(url);
      if (typeof page !== "string" || !page) throw new Refused("UNSUPPORTED", "This clearway is older than the extension; update it.");
      const session = await this.logIn(port, ticket);
      this.page = page;
      this.failed = undefined;
      this.session = session;
      if (this.over) void this.leave();
      return session;
    } catch (error) {
      const pause = Math.min(this.failed ? this.failed.pause * 2 : PAUSE_MS_MIN, PAUSE_MS_MAX);
      this.failed = { error, pause, until: this.now() + pause };
      throw error;
    }
  }

  private async logIn(port: number, ticket: string): Promise<Session> {
    const answer = await new Promise<{ reply: Reply; cookies: string[] }>((resolve, reject) => {
      const request = this.begun({ port, cookie: "", key: "" }, "POST", "/session", {}, (came) => {
        whole(came).then((reply) => resolve({ reply, cookies: came.headers["set-cookie"] ?? [] }), reject);
      });
      request.on("error", reject).setTimeout(ANSWER_MS_MAX, () => request.destroy());
      request.end(JSON.stringify({ ticket }));
    });
    const said = object(answer.reply.body);
    const cookie = answer.cookies[0]?.split(";")[0] ?? "";
    if (answer.reply.status !== 200 || typeof said["key"] !== "string" || !/^clearway-\d+=[\w-]+$/.test(cookie)) {
      throw new Refused(String(said["code"] ?? "UNAUTHORIZED"), String(said["message"] ?? "The host let nobody in."));
    }
    return { port, cookie, key: said["key"] };
  }

  private begun(
    { port, cookie, key }: Session,
    method: string,
    path: string,
    headers: Record<string, string>,
    answered: (answer: http.IncomingMessage) => void,
  ): http.ClientRequest {
    const shown = key ? { Cookie: cookie, "Clearway-Page": key } : {};
    const request = http.request(
      { host: HERE, port, method, path, agent: false, headers: { ...headers, ...shown, Origin: `http://${HERE}:${port}` } },
      answered,
    );
    this.open.add(request);
    request.on("close", () => this.open.delete(request));
    return request;
  }

  private forget(session: Session | undefined): void {
    if (this.session === session) this.session = undefined;
  }
}

/** The port and the ticket of a link. It leads to this machine, or nowhere. */
export function place(url: unknown): { port: number; ticket: string } {
  const found = typeof url === "string" && /^http:\/\/127\.0\.0\.1:(\d{1,5})\/#ticket=([\w-]{1,128})(?:&|$)/.exec(url);
  if (!found) throw new Refused("INTERNAL", "clearway web gave no link to this machine.");
  return { port: Number(found[1]), ticket: found[2]! };
}

function named(room: string): Record<string, string> {
  return room ? { "Clearway-Room": room } : {};
}

function told(error: unknown): Reply {
  const { code, message } = error instanceof Refused ? error : { code: "UNREACHABLE", message: "The host does not answer." };
  return { status: 503, body: JSON.stringify({ code, message }) };
}

function whole(answer: http.IncomingMessage): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    answer.on("data", (part: Buffer) => {
      parts.push(part);
      if ((bytes += part.length) > ANSWER_BYTES_MAX) answer.destroy(new Error("The answer is too long."));
    });
    answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(parts).toString("utf8") }));
    answer.on("error", reject);
    answer.on("aborted", () => reject(new Error("The host was lost.")));
  });
}

export function object(text: string): Answer {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === "object" && read !== null && !Array.isArray(read) ? (read as Answer) : {};
  } catch {
    return {};
  }
}
