import assert from "node:assert/strict";
import { test } from "node:test";
import { Refused } from "../src/asking.ts";
import { page } from "../src/page.ts";
import { find, type Surroundings } from "../src/program.ts";
import { holder, read, sentence } from "../src/room.ts";
import { Watch } from "../src/watch.ts";

const here: Surroundings = { setting: "", environ: {}, windows: false, isProgram: () => true };
const status = { project_id: "P", root: "/work/repo", checkout: "C1" };
const room = {
  me: { agent: "human", session: "=human@here" },
  agents: [
    { agent: "human", session: "=human@here", presence: "idle" },
    { agent: "codex", session: "codex#1", presence: "busy", doing: "the parser", hooks: false },
  ],
  messages: [
    { message_id: 3, to: "human", state: "queued" },
    { message_id: 2, to: "human", state: "accepted" },
    { message_id: 1, to: "codex", state: "queued" },
  ],
  waiting_for_you: [{ message_id: 3, to: "human" }, { message_id: 0, to: "human" }],
};
const lease = { agent: "codex", session: "codex#1", mode: "edit", purpose: "refactor", until: "2026-11-30T12:30:00Z" };
const board = {
  columns: { ready: [{ display_id: "ISSUE-1", title: "Parser" }], live: [{ display_id: "ISSUE-2", title: "Lexer", live: { agent: "codex" } }] },
  counts: { ready: 1, live: 1 },
  latest_event_id: 7,
  paths: [
    { ...lease, path: "src/a.py", checkout: "C1" },
    { ...lease, path: "deploy", checkout: "C1" },
    { ...lease, path: "other.py", checkout: "C2" },
    { ...lease, path: "mine.py", checkout: "C1", session: "=human@here", agent: "human" },
    { ...lease, path: "run.py", checkout: "C1", mode: "run" },
  ],
};
const state = read(status, room, board);

test("a setting is authoritative: where it names no program, nothing else is tried", () => {
  const environ = { PATH: "/usr/bin", CLEARWAY_PROGRAM: "/opt/clearway" };
  const found = find({ ...here, setting: "/nowhere/clearway", environ, isProgram: (file) => file !== "/nowhere/clearway" });
  assert.ok("problem" in found && found.problem.includes("/nowhere/clearway"));
  assert.deepEqual(find({ ...here, setting: " /x/clearway ", environ }), { program: "/x/clearway", by: "setting" });
});

test("the environment comes before the PATH, and the PATH in its order", () => {
  const environ = { CLEARWAY_PROGRAM: "/opt/clearway", PATH: "/a:/b" };
  assert.deepEqual(find({ ...here, environ }), { program: "/opt/clearway", by: "environment" });
  const found = find({ ...here, environ: { PATH: "/a:/b" }, isProgram: (file) => file === "/b/clearway" });
  assert.deepEqual(found, { program: "/b/clearway", by: "path" });
});

test("a setting may begin at home, and is never looked for where the window happens to stand", () => {
  const environ = { HOME: "/home/anna" };
  assert.deepEqual(find({ ...here, setting: "~/bin/clearway", environ }), { program: "/home/anna/bin/clearway", by: "setting" });
  assert.ok("problem" in find({ ...here, setting: "bin/clearway" }));
});

test("a folder that is open cannot put its own program before the person's", () => {
  const asked: string[] = [];
  const isProgram = (file: string) => (asked.push(file), false);
  const found = find({ ...here, environ: { PATH: ":.:bin:/usr/bin" }, isProgram });
  assert.deepEqual(asked, ["/usr/bin/clearway"]);
  assert.ok("problem" in found && found.problem.includes("uv tool install"));
});

test("a file is held by whoever holds it or a folder above it, in this checkout", () => {
  assert.equal(holder(state, "/work/repo/src/a.py")?.agent, "codex");
  assert.equal(holder(state, "/work/repo/deploy/x/y.yaml")?.path, "deploy");
  for (const free of ["src/a.pyc", "deployed.txt", "other.py", "mine.py", "run.py", "../repo2/src/a.py"]) {
    assert.equal(holder(state, `/work/repo/${free}`), undefined, free);
  }
  assert.match(sentence(state.held[0]!), /^held by codex until \d\d:\d\d: refactor$/);
});

test("what a room says is read with care", () => {
  assert.deepEqual([state.unread, state.latest, state.issues.length, state.agents[1]!.advisory], [2, 7, 2, true]);
  assert.deepEqual(state.issues.map((issue) => issue.agent), ["codex", ""]);
  assert.equal(state.agents[1]!.doing, "the parser");
  const odd = read({}, { agents: "x", me: null, messages: {} }, { columns: [], paths: [null, 3, { path: 5 }] });
  assert.deepEqual([odd.agents, odd.held.length, odd.held[0]!.path, odd.unread], [[], 1, "", 0]);
});

test("what agents wrote never becomes markup, and the page runs no script", () => {
  const hostile = `<img src=x onerror="alert(1)">'&`;
  const shown = page(
    { ...state, held: [{ ...state.held[0]!, path: hostile, purpose: hostile, agent: hostile }], issues: [{ id: hostile, title: hostile, column: "ready", agent: hostile }] },
    "",
  );
  assert.ok(!shown.includes("<img") && !shown.includes("<script"));
  assert.match(shown, /default-src 'none'; style-src 'unsafe-inline'/);
  assert.ok(!page(undefined, hostile).includes("<img"));
  assert.ok(page(state, "No host is here.").includes("No host is here.") && page(state, "").includes("ISSUE-1"));
});

test("a watch asks for all of it once, sleeps until the log goes on, and asks again", async () => {
  const asked: string[] = [];
  let rounds = 0;
  const answers: Record<string, object> = { status, room, board };
  const asking = {
    ask: async (words: string[]) => (asked.push(words[0]!), answers[words[0]!]!),
    run: async (words: string[]) => {
      asked.push(words.join(" "));
      if (++rounds === 2) watch.dispose();
      return {};
    },
  };
  const watch = new Watch(asking as never, () => undefined, async () => undefined);
  await watch.follow();
  const wait = "changes --since 7 --limit 1 --wait-seconds 50";
  assert.deepEqual(asked, ["status", "room", "board", wait, "status", "room", "board", wait]);
});

test("a room that was just made is heard at once, however rarely it was asked before", async () => {
  let made = false;
  let heard = () => undefined as void;
  const hears = new Promise<void>((resolve) => (heard = resolve));
  const asking = {
    ask: async (words: string[]) => (made ? ({ status, room, board } as Record<string, object>)[words[0]!]! : {}),
    run: async () => (watch.dispose(), heard(), {}),
  };
  const watch: Watch = new Watch(asking as never, () => undefined, () => new Promise(() => undefined));
  void watch.follow();
  await new Promise(setImmediate);
  assert.equal(watch.isKnown, true);
  made = true;
  await watch.look();
  await hears;
});

test("a room that does not answer is asked ever more rarely, and what was known stays", async () => {
  const pauses: number[] = [];
  let fails = false;
  const asking = {
    ask: async (words: string[]) => {
      if (fails) throw new Refused("STORAGE_BUSY", "busy");
      return ({ status, room, board } as Record<string, object>)[words[0]!]!;
    },
    run: async () => ((fails = true), {}),
  };
  const watch = new Watch(asking as never, () => undefined, async (pause) => {
    pauses.push(pause);
    if (pauses.length === 7) watch.dispose();
  });
  await watch.follow();
  assert.deepEqual(pauses, [2000, 4000, 8000, 16000, 32000, 60000, 60000]);
  assert.equal(watch.problem?.code, "STORAGE_BUSY");
  assert.equal(watch.state?.latest, 7);
});
