import assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { activate } from "../src/extension.ts";
import { Row } from "../src/views.ts";
import { Uri, told, window as editor, workspace } from "./editor.ts";

// A stand-in for the product: it answers from files beside it, and writes down what it was asked.
const PROGRAM = `#!/bin/sh
here=$(dirname "$0")
[ "$1" = --json ] && shift || exit 9
echo "$*" >> "$here/asked"
case "$1" in
  changes) exec sleep 60 ;;
  send|claim|release|issue|init|web) if [ -f "$here/refusal" ]; then cat "$here/refusal" >&2; exit 4; fi; echo '{}' ;;
  *) cat "$here/$1.json" ;;
esac
`;
const LEASE = { agent: "codex", session: "codex#1", mode: "edit", purpose: "refactor", until: "2026-11-30T12:30:00Z", checkout: "C" };
let root: string, program: string, ended: { dispose(): void }[];

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "clearway-")));
  mkdirSync(join(root, "repo"));
  mkdirSync(join(root, "bin"));
  program = join(root, "bin", "clearway");
  writeFileSync(program, PROGRAM, { mode: 0o755 });
  says("status", { project_id: "P", root: join(root, "repo"), checkout: "C" });
  says("room", {
    me: { agent: "human", session: "=human" },
    agents: [{ agent: "codex", session: "codex#1", presence: "busy" }, { agent: "human", session: "=human", presence: "idle" }],
    messages: [{ id: 1 }, { id: 2 }],
  });
  says("board", {
    columns: { ready: [{ display_id: "ISSUE-1", title: "Parser" }] },
    counts: { ready: 1 },
    latest_event_id: 3,
    paths: [{ ...LEASE, path: "a.py" }],
  });
  Object.assign(told, { settings: { "clearway.program": program }, errors: [], warnings: [], picks: [], html: "", servers: undefined });
  told.folders = [{ uri: Uri.file(join(root, "repo")), name: "repo", index: 0 }];
  workspace.isTrusted = true;
  editor.activeTextEditor = undefined;
  ended = [];
});

afterEach(() => {
  ended.forEach((each) => each.dispose());
  rmSync(root, { recursive: true, force: true });
});

function says(name: string, answer: object): void {
  writeFileSync(join(root, "bin", `${name}.json`), JSON.stringify(answer));
}

async function begin(): Promise<void> {
  activate({ subscriptions: ended, extension: { packageJSON: { version: "1" } } } as never);
  await told.commands["clearway.refresh"]!();
}

function asked(word: string): string[] {
  return readFileSync(join(root, "bin", "asked"), "utf-8").split("\n").filter((line) => line.startsWith(word));
}

const servers = () => (told.providers["servers"] as { provideMcpServerDefinitions(): { label: string; command: string; cwd: Uri }[] }).provideMcpServerDefinitions();
const mark = (name: string) => (told.providers["marks"] as { provideFileDecoration(uri: Uri): { badge: string; tooltip: string } | undefined }).provideFileDecoration(Uri.file(join(root, "repo", name)));
const rows = (name: string) => (told.providers[`clearway.${name}`] as { getChildren(): Row[] }).getChildren();

test("the status bar counts who is here, what is held and what is unread", async () => {
  await begin();
  assert.equal(told.bar.text, "$(git-merge) 1 · 1 held · $(mail) 2");
  assert.equal(told.context["clearway.hasRoom"], true);
});

test("a held file is marked, and who opens it is told once a lease", async () => {
  await begin();
  assert.match(mark("a.py")!.tooltip, /^held by codex until \d\d:\d\d: refactor$/);
  assert.equal(mark("b.py"), undefined);
  const opened = { document: { uri: Uri.file(join(root, "repo", "a.py")) } };
  told.editorChanged.fire(opened);
  told.editorChanged.fire(opened);
  assert.equal(told.warnings.length, 1);
  says("board", { paths: [{ ...LEASE, path: "a.py", session: "codex#2" }] });
  await told.commands["clearway.refresh"]!();
  told.editorChanged.fire(opened);
  assert.equal(told.warnings.length, 2, "a new lease is told again");
});

test("agents, held paths and the board are listed", async () => {
  await begin();
  assert.deepEqual(rows("agents").map((row) => [row.label, row.description]), [["codex", "busy"]]);
  assert.deepEqual(rows("held").map((row) => row.label), ["a.py"]);
  assert.deepEqual(rows("board").map((row) => [row.label, row.rows.map((each) => each.label)]), [["ready", ["ISSUE-1"]]]);
});

test("a server is offered for a folder with a room, and never a second one", async () => {
  await begin();
  assert.deepEqual(servers().map((each) => [each.label, each.command, each.cwd.fsPath]), [["Clearway", program, join(root, "repo")]]);
  mkdirSync(join(root, "repo", ".vscode"));
  writeFileSync(join(root, "repo", ".vscode", "mcp.json"), '{ // ours\n "servers": {"clearway": {}} }');
  assert.deepEqual(servers(), []);
  rmSync(join(root, "repo", ".vscode"), { recursive: true });
  told.servers = { clearway: {} };
  assert.deepEqual(servers(), []);
  told.servers = undefined;
  told.settings["clearway.registerServer"] = false;
  assert.deepEqual(servers(), []);
  delete told.settings["clearway.registerServer"];
  workspace.isTrusted = false;
  assert.deepEqual(servers(), []);
});

test("a folder without a room shows nothing and is offered one", async () => {
  says("status", {});
  await begin();
  assert.deepEqual([told.bar.shown, told.context["clearway.hasRoom"], servers().length], [false, false, 0]);
});

test("where the program cannot be found, the status bar says how it could be", async () => {
  told.settings["clearway.program"] = join(root, "nowhere");
  await begin();
  assert.match(told.bar.tooltip, /clearway\.program names .*nowhere/);
  assert.deepEqual(servers(), []);
});

test("what a person chooses is asked of the product in so many words, and never through a shell", async () => {
  await begin();
  told.typed = "--room x; touch pwned";
  await told.commands["clearway.message"]!(rows("agents")[0]);
  await told.commands["clearway.claimIssue"]!(rows("board")[0]!.rows[0]);
  await told.commands["clearway.claimFile"]!(Uri.file(join(root, "repo", "b.py")));
  await told.commands["clearway.init"]!();
  assert.deepEqual(asked("send"), ["send --to=codex -- --room x; touch pwned"]);
  assert.deepEqual(asked("issue"), ["issue claim ISSUE-1"]);
  assert.deepEqual(asked("claim"), [`claim ${join(root, "repo", "b.py")} --purpose in the editor`]);
  assert.deepEqual(asked("init"), ["init"]);
  assert.deepEqual(told.errors, []);
});

test("a refusal is shown with its code and sentence", async () => {
  await begin();
  writeFileSync(join(root, "bin", "refusal"), JSON.stringify({ code: "PATH_HELD", message: "a.py is held by codex." }));
  await told.commands["clearway.claimFile"]!(Uri.file(join(root, "repo", "a.py")));
  assert.deepEqual(told.errors, ["Clearway: PATH_HELD: a.py is held by codex."]);
});

test("the room is shown as a page without a script", async () => {
  await begin();
  await told.commands["clearway.showRoom"]!();
  assert.ok(told.html.includes("ISSUE-1") && told.html.includes("refactor") && !told.html.includes("<script"));
});
