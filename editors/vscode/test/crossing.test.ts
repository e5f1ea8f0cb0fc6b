/** What passes between the page in its frame and the host, and what does not. */

import assert from "node:assert/strict";
import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, test } from "node:test";
import { Refused } from "../src/asking.ts";
import { Bridge } from "../src/bridge.ts";
import { Door, place, type Ear } from "../src/door.ts";
import { frame } from "../src/frame.ts";

// A stand-in for the host: it lets in whoever shows its ticket, and writes down who asked what.
class Host {
  readonly asked: { line: string; headers: http.IncomingHttpHeaders; body: string }[] = [];
  readonly streams: http.ServerResponse[] = [];
  session = "one";
  private readonly server = http.createServer((request, answer) => void this.answer(request, answer));

  async start(port = 0): Promise<number> {
    this.server.listen(port, "127.0.0.1");
    await once(this.server, "listening");
    return (this.server.address() as AddressInfo).port;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer(request: http.IncomingMessage, answer: http.ServerResponse): Promise<void> {
    let body = "";
    for await (const part of request) body += String(part);
    const line = `${request.method} ${request.url}`;
    this.asked.push({ line, headers: request.headers, body });
    if (line === "POST /session") {
      answer.setHeader("Set-Cookie", `clearway-1=cookie-${this.session}; Path=/; HttpOnly`);
      return void answer.end(JSON.stringify({ key: `key-${this.session}` }));
    }
    const { cookie, "clearway-page": key } = request.headers;
    if (cookie !== `clearway-1=cookie-${this.session}` || key !== `key-${this.session}`) {
      answer.statusCode = 401;
      return void answer.end('{"code":"UNAUTHORIZED"}');
    }
    if (request.url === "/events") {
      this.streams.push(answer);
      return void answer.flushHeaders();
    }
    if (request.url === "/rooms") return void answer.end(JSON.stringify({ rooms: ["X", "B", "A"].map((project) => ({ project })) }));
    answer.end(JSON.stringify({ done: request.url }));
  }
}

let ending: (() => void)[] = [];
afterEach(() => {
  ending.forEach((end) => end());
  ending = [];
});

async function hosted(): Promise<{ host: Host; door: Door; links: number[] }> {
  const host = new Host();
  const links = [await host.start()];
  const door = new Door(async () => ({ url: `http://127.0.0.1:${links.at(-1)}/#ticket=T&room=A`, page: "/page" }));
  ending.push(() => host.stop(), () => void door.close());
  return { host, door, links };
}

function listens(): Ear & { heard: string[]; done: Promise<number>; begins: Promise<void> } {
  const heard: string[] = [];
  let end: (status: number) => void, begin: () => void;
  const done = new Promise<number>((resolve) => (end = resolve));
  const begins = new Promise<void>((resolve) => (begin = resolve));
  return { heard, done, begins, begun: () => begin(), part: (text) => void heard.push(text), ended: ({ status }) => end(status) };
}

test("the door shows its session to the host of this machine, from the host's own page, and keeps it to itself", async () => {
  const { host, door } = await hosted();
  assert.deepEqual(await door.ask("A", "add_comment", { content: "é" }), { status: 200, body: '{"done":"/ask/add_comment"}' });
  await door.ask("A", "room", {});
  assert.deepEqual(host.asked.map(({ line }) => line), ["POST /session", "POST /ask/add_comment", "POST /ask/room"]);
  const { headers, body } = host.asked[1]!;
  const own = `127.0.0.1:${headers.host!.split(":")[1]}`;
  assert.deepEqual([headers.host, headers.origin, headers["clearway-room"], body], [own, `http://${own}`, "A", '{"content":"é"}']);
  await door.leave();
  assert.equal(host.asked.at(-1)!.line, "DELETE /session");
  await door.ask("A", "room", {});
  assert.deepEqual(host.asked.slice(-2).map(({ line }) => line), ["POST /session", "POST /ask/room"]);
});

test("a link leads to this machine or nowhere", () => {
  assert.deepEqual(place("http://127.0.0.1:4000/#ticket=a-b_c&room=A"), { port: 4000, ticket: "a-b_c" });
  for (const wrong of [
    "https://127.0.0.1:4000/#ticket=a", "http://127.0.0.1.evil.example:4000/#ticket=a", "http://evil.example/#ticket=a",
    "http://127.0.0.1@evil.example:80/#ticket=a", "http://127.0.0.1:4000/x#ticket=a", "http://127.0.0.1:4000/#ticket=a b", 5, undefined,
  ]) {
    assert.throws(() => place(wrong), Refused, String(wrong));
  }
});

test("whoever was logged out, or finds the host elsewhere, is let in anew and asks once more", async () => {
  const { host, door, links } = await hosted();
  await door.ask("A", "room", {});
  host.session = "two";
  assert.equal((await door.ask("A", "room", {})).status, 200);
  host.stop();
  const next = new Host();
  ending.push(() => next.stop());
  links.push(await next.start());
  assert.equal((await door.ask("A", "room", {})).status, 200);
  assert.deepEqual(next.asked.map(({ line }) => line), ["POST /session", "POST /ask/room"]);
});

test("where there is no host the person is told why, and the program is asked ever more rarely", async () => {
  let tries = 0;
  let now = 0;
  const door = new Door(async () => {
    tries += 1;
    throw new Refused("STORAGE_CONFIGURATION", "CLEARWAY_HOST=off");
  }, () => now);
  for (let second = 0; second <= 100; second += 1, now += 1_000) {
    const { status, body } = await door.ask("A", "room", {});
    assert.deepEqual([status, JSON.parse(body)], [503, { code: "STORAGE_CONFIGURATION", message: "CLEARWAY_HOST=off" }]);
  }
  assert.equal(tries, 7, "at 0, 2, 6, 14, 30, 60, 90 s");
});

test("a stream is heard part by part, and after a lost host it goes on where its reader says, in a new session", async () => {
  const { host, door, links } = await hosted();
  const ear = listens();
  door.events("A", 7, ear);
  await ear.begins;
  host.streams[0]!.write(Buffer.from("data: é\n\n").subarray(0, 7)); // in the midst of a letter
  while (!ear.heard.length) await new Promise(setImmediate);
  host.streams[0]!.write(Buffer.from("data: é\n\n").subarray(7));
  while (ear.heard.join("").length < 9) await new Promise(setImmediate);
  assert.equal(ear.heard.join(""), "data: é\n\n");
  host.stop();
  await ear.done;
  const next = new Host();
  ending.push(() => next.stop());
  links.push(await next.start());
  const again = listens();
  const stop = door.events("A", 8, again);
  await again.begins;
  assert.deepEqual(next.asked.map(({ line, headers }) => [line, headers["last-event-id"]]), [["POST /session", undefined], ["GET /events", "8"]]);
  stop();
  await again.done;
  const never = listens();
  const early = door.events("A", 8, never);
  await settled();
  early();
  await never.done;
  await door.ask("A", "room", {});
  assert.equal(next.asked.filter(({ line }) => line === "POST /session").length, 1, "whoever stops a stream before it began has lost no host");
});

interface Asked {
  room: string;
  operation: string;
  given: object;
}

function crossed(rooms = ["A", "B"]) {
  const asked: Asked[] = [];
  const said: Record<string, unknown>[] = [];
  const ears: Ear[] = [];
  const stopped: number[] = [];
  const door = {
    ask: async (room: string, operation: string, given: object) => (asked.push({ room, operation, given }), { status: 200, body: "{}" }),
    rooms: async () => ({ status: 200, body: JSON.stringify({ rooms: ["X", "B", "A"].map((project) => ({ project })) }) }),
    events: (_room: string, _since: number, ear: Ear) => (ears.push(ear), () => void stopped.push(ears.indexOf(ear))),
  };
  const bridge = new Bridge({ door, rooms: () => rooms, say: (message) => void said.push(message as Record<string, unknown>) });
  return { bridge, asked, said, ears, stopped };
}

const settled = () => new Promise(setImmediate);

test("the frame asks about rooms of this window only, and names them in their order", async () => {
  const { bridge, asked, said } = crossed();
  bridge.hear({ id: 1, verb: "rooms" });
  bridge.hear({ id: 2, verb: "ask", room: "B", operation: "get_board", given: { cards: 60 } });
  bridge.hear({ id: 3, verb: "ask", room: "X", operation: "get_board", given: {} });
  await settled();
  assert.deepEqual(asked, [{ room: "B", operation: "get_board", given: { cards: 60 } }]);
  const of = (id: number) => said.find((each) => each["id"] === id)!;
  assert.deepEqual(JSON.parse(String(of(1)["body"])), { rooms: [{ project: "A" }, { project: "B" }] });
  assert.deepEqual([of(2)["status"], of(3)["status"]], [200, 404]);
});

test("nothing else passes: no other address, method, header or shape", async () => {
  const { bridge, asked, said, ears } = crossed();
  const ask = { verb: "ask", room: "A", operation: "room", given: {} };
  let id = 10;
  for (const wrong of [
    { ...ask, operation: "../session" }, { ...ask, operation: "room?x=1" }, { ...ask, operation: "Room" }, { ...ask, operation: "room\r\nX: 1" },
    { ...ask, operation: ["room"] }, { ...ask, operation: "" }, { ...ask, operation: "a".repeat(65) }, { ...ask, given: "{}" },
    { ...ask, given: [1] }, { ...ask, given: null }, { ...ask, room: ["A"] }, { ...ask, room: undefined }, { ...ask, room: "A\r\nX: 1" },
    { ...ask, verb: "fetch" }, { ...ask, verb: "session" }, { ...ask, verb: "constructor" }, { ...ask, verb: undefined },
    { ...ask, given: { text: "x".repeat(1_000_001) } },
    { ...ask, verb: "events", since: "7" }, { ...ask, verb: "events", since: -1 }, { ...ask, verb: "events", since: 1.5 }, { ...ask, verb: "events" },
  ]) {
    bridge.hear({ id: ++id, ...wrong });
    assert.ok(Number(said.at(-1)!["status"]) >= 400 && said.at(-1)!["id"] === id, JSON.stringify(wrong).slice(0, 200));
  }
  const answers = said.length;
  for (const odd of [null, undefined, 5, "rooms", [], [1], { verb: "rooms" }, { id: "1", verb: "rooms" }, { id: -1, verb: "rooms" }, { id: 1e10, verb: "rooms" }]) {
    bridge.hear(odd);
  }
  await settled();
  assert.deepEqual([asked, ears, said.length], [[], [], answers]);
  // What is said beside the question goes nowhere.
  bridge.hear({ id: 1, ...ask, path: "/session", method: "DELETE", host: "evil.example", headers: { Cookie: "x" } });
  assert.deepEqual(asked, [{ room: "A", operation: "room", given: {} }]);
});

test("a frame can neither ask without end nor answer for another", async () => {
  const { bridge, asked, said, ears, stopped } = crossed();
  for (let id = 1; id <= 70; id += 1) bridge.hear({ id, verb: "ask", room: "A", operation: "room", given: {} });
  bridge.hear({ id: 1, verb: "ask", room: "A", operation: "room", given: {} });
  assert.deepEqual([asked.length, said.filter((each) => each["status"] === 429).length], [64, 6]);
  await settled();
  for (let id = 101; id <= 105; id += 1) bridge.hear({ id, verb: "events", room: "A", since: 0 });
  bridge.hear({ id: 101, verb: "events", room: "A", since: 0 });
  assert.deepEqual([ears.length, said.at(-1)!["id"], said.at(-1)!["status"]], [4, 105, 429]);
  bridge.hear({ id: 102, verb: "stop" });
  ears[1]!.part("late");
  ears[0]!.begun();
  ears[0]!.part("a");
  ears[0]!.ended({ status: 200, body: "" });
  assert.deepEqual(said.slice(-3), [{ id: 101, begun: true }, { id: 101, part: "a" }, { id: 101, status: 200, body: "" }]);
  bridge.begin(); // another page in the same frame
  assert.deepEqual(stopped, [1, 2, 3]);
  bridge.hear({ id: 103, verb: "events", room: "A", since: 0 });
  bridge.dispose();
  assert.deepEqual(stopped, [1, 2, 3, 4]);
});

const INDEX = `<!doctype html><html><head>
<meta charset="utf-8">
<link rel="icon" href="/web/icon.svg">
<link rel="stylesheet" href="/web/style.css">
<link rel="modulepreload" href="/web/vendor/p.mjs">
<script type="module" src="/web/js/start.mjs"></script>
</head><body></body></html>`;

test("in its frame the page has no network and no script but its own", () => {
  const made = frame(INDEX, "https://files/page", "https://files", "N");
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(made)![1]!;
  assert.match(policy, /^default-src 'none'; script-src 'nonce-N'; style-src https:\/\/files; img-src https:\/\/files;/);
  assert.ok(!/connect-src|unsafe|frame-src|worker-src/.test(policy));
  assert.ok(made.indexOf("Content-Security-Policy") < made.indexOf("<link") && !made.includes('"/web/'));
  for (const part of ['<script nonce="N" type="module" src="https://files/page/js/start.mjs">', 'modulepreload" nonce="N" href="https://files/page/vendor/p.mjs"', "page/editor.css"]) {
    assert.ok(made.includes(part), part);
  }
  assert.throws(() => frame("<html></html>", "", "", ""), Refused);
});
