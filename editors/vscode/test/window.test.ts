import assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { activate } from "../src/extension.ts";
import { Row } from "../src/views.ts";
import { Uri, told, window as editor, workspace, type Panel } from "./editor.ts";

// A stand-in for the product: it answers from files beside it, and writes down what it was asked.
const PROGRAM = `#!/bin/sh
here=$(dirname "$0")
[ "$1" = --json ] && shift || exit 9
echo "$*" >> "$here/asked"
case "$1" in
  changes) exec sleep 60 ;;
  send|claim|release|issue|init) if [ -f "$here/refusal" ]; then cat "$here/refusal" >&2; exit 4; fi; echo '{}' ;;
  *) if [ -f ".$1.json" ]; then cat ".$1.json"; else cat "$here/$1.json"; fi ;;
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
  says("web", { url: "http://127.0.0.1:9/#ticket=T", page: join(root, "page") });
  says("room", {
    me: { agent: "human", session: "=human" },
    agents: [{ agent: "codex", session: "codex#1", presence: "busy" }, { agent: "human", session: "=human", presence: "idle" }],
    messages: [1, 2].map((message_id) => ({ message_id, to: "human", state: "queued" })),
  });
  says("board", {
    columns: { ready: [{ display_id: "ISSUE-1", title: "Parser" }] },
    counts: { ready: 1, live: 2 },
    latest_event_id: 3,
    paths: [{ ...LEASE, path: "a.py" }],
  });
  Object.assign(told, { settings: { "clearway.program": program }, errors: [], warnings: [], picks: [], panels: [], tasks: [], sure: false, servers: undefined });
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
  const user = Uri.file(join(root, "User", "globalStorage", "clearway.clearway"));
  const extension = { packageJSON: { version: "1" } };
  activate({ subscriptions: ended, extension, extensionUri: Uri.file("/e"), globalStorageUri: user } as never);
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
  assert.equal(told.bar.text, "$(git-merge) 2 live · 1 held · $(mail) 2");
  assert.match(told.bar.tooltip, /1 agent is here, 2 issues are in work, 1 path is held, 2 messages wait for you/);
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
  says("board", { paths: [{ ...LEASE, path: "n.ipynb" }] });
  await told.commands["clearway.refresh"]!();
  told.notebookChanged.fire({ notebook: { uri: Uri.file(join(root, "repo", "n.ipynb")) } });
  assert.match(told.warnings.at(-1)!, /^n\.ipynb is held by codex/);
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
  const file = join(root, "repo", ".vscode", "mcp.json");
  writeFileSync(file, '{ // ours\n "servers": {"clearway": {}} }');
  let toldAnew = 0;
  const provider = told.providers["servers"] as { onDidChangeMcpServerDefinitions(heard: () => void): void };
  provider.onDidChangeMcpServerDefinitions(() => (toldAnew += 1));
  told.saved.fire({ fileName: file });
  assert.equal(toldAnew, 1);
  assert.deepEqual(servers(), []);
  rmSync(join(root, "repo", ".vscode"), { recursive: true });
  told.servers = { clearway: {} };
  assert.deepEqual(servers(), []);
  told.servers = undefined;
  mkdirSync(join(root, "User"));
  writeFileSync(join(root, "User", "mcp.json"), JSON.stringify({ servers: { mine: { command: "/opt/bin/clearway", args: ["mcp"] } } }));
  assert.deepEqual(servers(), [], "the user's own, under whatever name");
  rmSync(join(root, "User"), { recursive: true });
  assert.equal(servers().length, 1);
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
  assert.equal(told.context["clearway.isMissing"], true);
  await told.commands["clearway.init"]!();
  assert.match(told.errors[0]!, /clearway\.program names .*nowhere/);
  await told.commands["clearway.showRoom"]!();
  assert.match(panel().webview.html, /clearway\.program names .*nowhere/);
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

test("what another holds is released only by somebody who is sure", async () => {
  await begin();
  const row = rows("held")[0]!;
  assert.equal(row.contextValue, "foreign");
  await told.commands["clearway.takeFile"]!(row);
  assert.deepEqual(asked("release"), []);
  told.sure = true;
  await told.commands["clearway.takeFile"]!(row);
  assert.deepEqual(asked("release"), [`release --force -- ${join(root, "repo", "a.py")}`]);
  assert.match(told.warnings.at(-1)!, /Release a.py, held by codex/);
});

test("agents are connected by a process of its own, and no shell reads its words", async () => {
  await begin();
  told.picks = ["Show what would be registered"];
  await told.commands["clearway.connect"]!();
  assert.deepEqual([told.tasks[0]!.execution.process, told.tasks[0]!.execution.args], [program, ["connect"]]);
});

const PAGE = '<html><head><meta charset="utf-8"><script type="module" src="/web/js/start.mjs"></script></head></html>';

/** A host that lets in whoever comes and answers with what it was asked. */
async function hosted(): Promise<string[]> {
  const lines: string[] = [];
  const host = http.createServer((request, answer) => {
    lines.push(`${request.method} ${request.url}`);
    request.resume();
    if (request.url === "/session") answer.setHeader("Set-Cookie", "clearway-1=c; Path=/");
    answer.end(request.url === "/session" ? '{"key": "k"}' : JSON.stringify({ asked: request.url }));
  });
  await new Promise<void>((done) => host.listen(0, "127.0.0.1", done));
  ended.push({ dispose: () => void host.close() });
  says("web", { url: `http://127.0.0.1:${(host.address() as AddressInfo).port}/#ticket=T`, page: join(root, "page") });
  mkdirSync(join(root, "page"));
  writeFileSync(join(root, "page", "index.html"), PAGE);
  return lines;
}

async function until(is: () => boolean): Promise<void> {
  while (!is()) await new Promise((wake) => setTimeout(wake, 5));
}

const panel = (): Panel => told.panels[0]!;

test("the room is shown whole, is led to what was chosen, and its session ends with its tab", async () => {
  const lines = await hosted();
  await begin();
  await told.commands["clearway.showRoom"]!(rows("board")[0]!.rows[0]);
  const { webview, said } = panel();
  assert.deepEqual([webview.options["enableScripts"], webview.options["enableCommandUris"]], [true, undefined]);
  assert.deepEqual((webview.options["localResourceRoots"] as Uri[]).map((each) => each.fsPath), [join(root, "page")]);
  assert.match(webview.html, /script-src 'nonce-[\w-]{24}'/);
  panel().heard.fire({ verb: "here" });
  assert.deepEqual(said, [{ go: { room: "P", panel: ["issue", "ISSUE-1"] } }]);
  panel().heard.fire({ id: 1, verb: "ask", room: "P", operation: "get_board", given: {} });
  await until(() => said.length > 1);
  assert.deepEqual(said[1], { id: 1, status: 200, body: '{"asked":"/ask/get_board"}' });
  await told.commands["clearway.showRoom"]!(rows("agents")[0]);
  assert.deepEqual([said[2], told.panels.length], [{ go: { room: "P", panel: ["agent", "codex#1"] } }, 1]);
  const before = webview.html;
  panel().heard.fire({ verb: "again" });
  await until(() => webview.html !== before);
  panel().dispose();
  await until(() => lines.includes("DELETE /session"));
  assert.ok(![webview.html, ...said.map((each) => JSON.stringify(each))].some((each) => each.includes("ticket")));
});

test("each folder of a window has its room, and the one of the open file is shown first", async () => {
  const lines = await hosted();
  mkdirSync(join(root, "other"));
  writeFileSync(join(root, "other", ".status.json"), JSON.stringify({ project_id: "Q", root: join(root, "other"), checkout: "D" }));
  told.folders.push({ uri: Uri.file(join(root, "other")), name: "other", index: 1 });
  await begin();
  assert.deepEqual(servers().map((each) => each.label), ["Clearway (repo)", "Clearway (other)"]);
  editor.activeTextEditor = { document: { uri: Uri.file(join(root, "other", "x.py")) } };
  await told.commands["clearway.showRoom"]!();
  panel().heard.fire({ verb: "here" });
  assert.deepEqual(panel().said, [{ go: { room: "Q" } }]);
  ["Q", "P", "elsewhere"].forEach((room, id) => panel().heard.fire({ id, verb: "ask", room, operation: "room", given: {} }));
  await until(() => panel().said.length === 4);
  const status = (id: number) => panel().said.find((each) => each["id"] === id)!["status"];
  assert.deepEqual([status(0), status(1), status(2)], [200, 200, 404]);
  assert.equal(lines.filter((line) => line === "POST /ask/room").length, 2);
});

test("a tab that was open when the window was loaded again is filled again", async () => {
  await hosted();
  await begin();
  const panels = told.providers["panel"] as { deserializeWebviewPanel(panel: unknown): Promise<void> };
  const { window } = await import("./editor.ts");
  await panels.deserializeWebviewPanel(window.createWebviewPanel());
  assert.match(panel().webview.html, /start\.mjs/);
});

test("where no host answers the room is a look without a script that says why", async () => {
  says("web", {});
  await begin();
  await told.commands["clearway.showRoom"]!();
  const { webview } = panel();
  assert.ok(webview.html.includes("ISSUE-1") && webview.html.includes("refactor") && !webview.html.includes("<script"));
  assert.match(webview.html, /gave no link/);
  assert.equal(webview.options["enableScripts"], false);
  panel().heard.fire({ id: 1, verb: "rooms" });
  assert.deepEqual(panel().said, []);
});
