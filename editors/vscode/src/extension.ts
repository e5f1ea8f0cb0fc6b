/** Where the editor starts the extension: one watch a folder, and what a person can do. */

import * as fs from "node:fs";
import * as vscode from "vscode";
import { ASK_SECONDS, Asking, Refused } from "./asking.ts";
import { Door } from "./door.ts";
import { Marks } from "./marks.ts";
import { page } from "./page.ts";
import { RoomPanel, TYPE, type Place } from "./panel.ts";
import { find } from "./program.ts";
import { Servers, usersFiles } from "./servers.ts";
import type { State } from "./room.ts";
import { agents, board, held, Row, Rows, type Followed } from "./views.ts";
import { Watch } from "./watch.ts";

class Folder implements Followed {
  readonly asking: Asking;
  readonly watch: Watch;

  constructor(
    readonly folder: vscode.WorkspaceFolder,
    program: string,
    changed: () => void,
  ) {
    this.asking = new Asking(program, folder.uri.fsPath);
    this.watch = new Watch(this.asking, changed, (pause) => new Promise((wake) => setTimeout(wake, pause).unref()));
    void this.watch.follow();
  }

  get state() {
    return this.watch.state;
  }

  get problem() {
    return this.watch.problem;
  }

  dispose(): void {
    this.watch.dispose();
    this.asking.dispose();
  }
}

let shown: Window | undefined;

export function activate(context: vscode.ExtensionContext): void {
  shown = new Window(context);
  context.subscriptions.push(shown);
}

/** The editor waits a moment for this: the session at the host ends with the window. */
export function deactivate(): Promise<void> | undefined {
  return shown?.close();
}

export class Window {
  private folders: Folder[] = [];
  private program = "";
  private missing = "";
  private readonly kept: vscode.Disposable[] = [];
  private readonly status = vscode.window.createStatusBarItem("clearway", vscode.StatusBarAlignment.Left, 20);
  private readonly marks = new Marks(() => this.folders);
  private readonly lists = [agents, held, board].map((each) => new Rows(() => this.folders, each));
  private readonly servers: Servers;
  private readonly panel: RoomPanel;
  private door: Door | undefined;

  constructor(context: vscode.ExtensionContext) {
    const version = (context.extension.packageJSON as { version: string }).version;
    const users = usersFiles(context.globalStorageUri.fsPath, process.env);
    this.servers = new Servers(() => this.folders, () => this.program, version, users);
    const icon = vscode.Uri.joinPath(context.extensionUri, "media", "icon.png");
    this.panel = new RoomPanel(() => this.door, () => this.rooms(), (problem) => this.look(problem), icon);
    this.status.name = "Clearway";
    ["agents", "held", "board"].forEach((name, place) =>
      this.keep(vscode.window.registerTreeDataProvider(`clearway.${name}`, this.lists[place]!)),
    );
    this.keep(
      this.status,
      vscode.window.registerFileDecorationProvider(this.marks),
      vscode.window.registerWebviewPanelSerializer(TYPE, this.panel),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.begin()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("clearway.program")) this.begin();
        else if (event.affectsConfiguration("clearway")) this.show();
        else if (event.affectsConfiguration("mcp")) this.servers.refresh();
      }),
      vscode.workspace.onDidSaveTextDocument((saved) => {
        if (saved.fileName.endsWith("mcp.json")) this.servers.refresh();
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => this.warn(editor?.document.uri)),
      vscode.window.onDidChangeActiveNotebookEditor((editor) => this.warn(editor?.notebook.uri)),
    );
    // Editors made of VS Code do not all have it.
    const offered = vscode.lm?.registerMcpServerDefinitionProvider?.("clearway", this.servers);
    if (offered) this.keep(offered);
    this.offer();
    this.begin();
  }

  dispose(): void {
    this.panel.dispose();
    void this.close();
    this.folders.forEach((each) => each.dispose());
    this.kept.forEach((each) => each.dispose());
  }

  async close(): Promise<void> {
    await this.door?.close();
  }

  /** Follow the folders there are now. */
  private begin(): void {
    this.folders.forEach((each) => each.dispose());
    this.folders = [];
    void this.door?.close();
    this.door = undefined;
    const found = find({
      setting: vscode.workspace.getConfiguration("clearway").get<string>("program", ""),
      environ: process.env,
      windows: process.platform === "win32",
      isProgram,
    });
    if ("problem" in found) {
      this.program = "";
      this.missing = found.problem;
      this.settle();
      this.status.text = "$(warning) clearway";
      this.status.tooltip = found.problem;
      this.status.command = { command: "workbench.action.openSettings", title: "", arguments: ["clearway.program"] };
      this.status.show();
      this.servers.refresh();
      void this.panel.renew();
      return;
    }
    this.program = found.program;
    this.missing = "";
    this.door = new Door(() => this.link());
    this.status.command = "clearway.showRoom";
    this.folders = (vscode.workspace.workspaceFolders ?? [])
      .filter((folder) => folder.uri.scheme === "file")
      .map((folder) => new Folder(folder, found.program, () => this.show()));
    this.show();
    void this.panel.renew();
  }

  /** What menus and the words of an empty list depend on. */
  private settle(): void {
    const hasRoom = this.folders.some((each) => each.state);
    void vscode.commands.executeCommand("setContext", "clearway.hasRoom", hasRoom);
    void vscode.commands.executeCommand("setContext", "clearway.isMissing", Boolean(this.missing));
  }

  private link() {
    const asked = this.folders.find((each) => each.state) ?? this.folders[0];
    if (!asked) throw new Refused("PROJECT_NOT_FOUND", "Open a folder first.");
    return asked.asking.run(["web"], ASK_SECONDS);
  }

  private rooms(): string[] {
    return [...new Set(this.folders.flatMap((each) => each.state?.project || []))];
  }

  /** Show what is known now. */
  private show(): void {
    const states = this.folders.flatMap((each) => (each.state ? [each.state] : []));
    this.settle();
    this.lists.forEach((each) => each.refresh());
    this.marks.settle();
    this.marks.refresh();
    this.servers.refresh();
    const problem = this.folders.find((each) => each.problem)?.problem;
    if (!states.length && !problem) {
      this.status.hide();
    } else {
      const sum = (of: (state: State) => number) => states.reduce((all, state) => all + of(state), 0);
      const others = sum((state) => state.agents.filter((agent) => agent.session !== state.session).length);
      const live = sum((state) => state.counts["live"] ?? 0);
      const paths = sum((state) => state.held.length);
      const unread = sum((state) => state.unread);
      this.status.text = `$(git-merge) ${live} live · ${paths} held${unread ? ` · $(mail) ${unread}` : ""}`;
      const told = [counted(others, "agent is", "agents are") + " here", counted(live, "issue is", "issues are") + " in work",
        counted(paths, "path is", "paths are") + " held", counted(unread, "message waits", "messages wait") + " for you"];
      this.status.tooltip = `Clearway: ${problem ? problem.message : told.join(", ")}`;
      this.status.show();
    }
    void this.panel.refresh();
    this.warn(vscode.window.activeTextEditor?.document.uri ?? vscode.window.activeNotebookEditor?.notebook.uri);
  }

  private warn(uri: vscode.Uri | undefined): void {
    const told = uri && this.marks.warning(uri);
    if (!told) return;
    const place: Place = { room: told.room, panel: ["path", told.path] };
    void vscode.window.showWarningMessage(told.text, "Show the room").then((chosen) => chosen && this.panel.open(place));
  }

  // --- what a person can do -----------------------------------------------------------------------------------

  private offer(): void {
    const deeds: Record<string, (chosen: unknown) => Promise<unknown>> = {
      init: () => this.inFolder(undefined, (each) => this.tell(each, ["init"], "This repository has a room now.")),
      connect: () => this.inFolder(undefined, async (each) => this.connect(each)),
      openRoom: () => this.inFolder(undefined, async (each) => this.tell(each, ["web", "--open"], "")),
      showRoom: (chosen) => this.panel.open(this.place(chosen)),
      refresh: () => Promise.all(this.folders.map((each) => each.watch.look())),
      claimFile: (chosen) => this.withFile(chosen, (each, file) => this.tell(each, ["claim", file, "--purpose", "in the editor"], `You hold ${file}.`)),
      releaseFile: (chosen) => this.withFile(chosen, (each, file) => this.tell(each, ["release", file], `${file} is free.`)),
      takeFile: (chosen) => this.inFolder(chosen, async (each) => this.takeFile(each, chosen)),
      claimIssue: (chosen) => this.inFolder(chosen, async (each) => this.claimIssue(each, chosen)),
      message: (chosen) => this.inFolder(chosen, async (each) => this.message(each, chosen)),
    };
    for (const [name, deed] of Object.entries(deeds)) {
      this.keep(vscode.commands.registerCommand(`clearway.${name}`, (chosen: unknown) => this.heard(deed(chosen))));
    }
  }

  private async connect(each: Folder): Promise<void> {
    const what = [
      { label: "Show what would be registered", words: ["connect"] },
      { label: "Register hooks and MCP server with the agents installed here", words: ["connect", "--write"] },
    ];
    const chosen = await vscode.window.showQuickPick(what);
    if (!chosen) return;
    const run = new vscode.ProcessExecution(this.program, chosen.words, { cwd: each.folder.uri.fsPath });
    const task = new vscode.Task({ type: "process" }, each.folder, chosen.words.join(" "), "clearway", run, []);
    task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, clear: true };
    await vscode.tasks.executeTask(task);
  }

  /** Give back in its holder's stead. */
  private async takeFile(each: Folder, chosen: unknown): Promise<void> {
    const held = chosen instanceof Row && each.state?.held.find((one) => one.here && one.path === chosen.label);
    if (!(chosen instanceof Row) || !held) throw new Refused("INVALID_ARGUMENT", "Choose a path of the list of held paths.");
    const sure = "Release it";
    const said = await vscode.window.showWarningMessage(
      `Release ${held.path}, held by ${held.agent}? Its next edit asks for it again.`,
      { modal: true },
      sure,
    );
    if (said === sure) await this.tell(each, ["release", "--force", "--", chosen.subject], `${held.path} is free.`);
  }

  private async claimIssue(each: Folder, chosen: unknown): Promise<void> {
    const ready = each.state?.issues.filter((issue) => issue.column === "ready") ?? [];
    const picked =
      chosen instanceof Row
        ? chosen.subject
        : (await vscode.window.showQuickPick(ready.map((issue) => ({ label: issue.id, description: issue.title }))))?.label;
    if (picked) await this.tell(each, ["issue", "claim", picked], `You work on ${picked}.`);
  }

  private async message(each: Folder, chosen: unknown): Promise<void> {
    const names = [...new Set(each.state?.agents.map((agent) => agent.name) ?? [])].filter((name) => name !== each.state?.me);
    const to = chosen instanceof Row ? chosen.subject : await vscode.window.showQuickPick(names, { placeHolder: "To whom?" });
    const said = to && (await vscode.window.showInputBox({ prompt: `To ${to}`, placeHolder: "What shall it read?" }));
    if (said) await this.tell(each, ["send", `--to=${to}`, "--", said], `Sent to ${to}.`);
  }

  private async tell(each: Folder, words: string[], done: string): Promise<void> {
    await each.asking.ask(words);
    if (done) vscode.window.setStatusBarMessage(done, 5000);
    await each.watch.look();
  }

  /** Where the room is led for what was chosen: a row of a list, or else the folder of the file that is open. */
  private place(chosen: unknown): Place | undefined {
    const project = chosen instanceof Row && chosen.followed.state?.project;
    if (project) return { room: project, ...(chosen.panel && { panel: chosen.panel }) };
    const open = vscode.window.activeTextEditor?.document.uri;
    const folder = open && vscode.workspace.getWorkspaceFolder(open);
    const room = this.folders.find((each) => each.folder.uri.toString() === folder?.uri.toString())?.state?.project;
    return room && this.folders.length > 1 ? { room } : undefined;
  }

  private look(problem: string): string {
    const shown = this.folders.find((each) => each.state) ?? this.folders[0];
    const asked = !shown || shown.watch.isKnown;
    const why = problem || this.missing || shown?.problem?.message;
    return page(shown?.state, why || (asked ? "" : "The room is being asked."));
  }

  private async withFile(chosen: unknown, act: (each: Folder, file: string) => Promise<void>): Promise<void> {
    if (chosen instanceof Row) return this.inFolder(chosen, (each) => act(each, chosen.subject));
    const uri = chosen instanceof vscode.Uri ? chosen : vscode.window.activeTextEditor?.document.uri;
    const folder = uri && vscode.workspace.getWorkspaceFolder(uri);
    const each = this.folders.find((one) => one.folder.uri.toString() === folder?.uri.toString());
    if (!uri || !each) throw new Refused("INVALID_ARGUMENT", "Open a file of a folder of this window first.");
    await act(each, uri.fsPath);
  }

  private async inFolder(chosen: unknown, act: (each: Folder) => Promise<void>): Promise<void> {
    const asked = chosen instanceof Row ? this.folders.filter((each) => each === chosen.followed) : this.folders;
    if (!asked.length) throw new Refused("PROJECT_NOT_FOUND", this.missing || "Open a folder first.");
    const each =
      asked.length === 1
        ? asked[0]
        : (await vscode.window.showQuickPick(asked.map((one) => ({ label: one.folder.name, one }))))?.one;
    if (each) await act(each);
  }

  private async heard(deed: Promise<unknown>): Promise<void> {
    try {
      await deed;
    } catch (error) {
      const told = error instanceof Refused ? `${error.code}: ${error.message}` : String(error);
      void vscode.window.showErrorMessage(`Clearway: ${told}`);
    }
  }

  private keep(...kept: vscode.Disposable[]): void {
    this.kept.push(...kept);
  }
}

function counted(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
