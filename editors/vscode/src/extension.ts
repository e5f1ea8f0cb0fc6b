/** Where the editor starts the extension: one watch a folder, and what a person can do. */

import * as fs from "node:fs";
import * as vscode from "vscode";
import { Asking, Refused } from "./asking.ts";
import { Marks } from "./marks.ts";
import { page } from "./page.ts";
import { find } from "./program.ts";
import { Servers } from "./servers.ts";
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

export function activate(context: vscode.ExtensionContext): void {
  const window = new Window(context);
  context.subscriptions.push(window);
}

export class Window {
  private folders: Folder[] = [];
  private program = "";
  private readonly kept: vscode.Disposable[] = [];
  private readonly status = vscode.window.createStatusBarItem("clearway", vscode.StatusBarAlignment.Left, 20);
  private readonly marks = new Marks(() => this.folders);
  private readonly lists = [agents, held, board].map((each) => new Rows(() => this.folders, each));
  private readonly servers: Servers;
  private panel: vscode.WebviewPanel | undefined;

  constructor(context: vscode.ExtensionContext) {
    const version = (context.extension.packageJSON as { version: string }).version;
    this.servers = new Servers(() => this.folders, () => this.program, version);
    this.status.name = "Clearway";
    ["agents", "held", "board"].forEach((name, place) =>
      this.keep(vscode.window.registerTreeDataProvider(`clearway.${name}`, this.lists[place]!)),
    );
    this.keep(
      this.status,
      vscode.window.registerFileDecorationProvider(this.marks),
      vscode.lm.registerMcpServerDefinitionProvider("clearway", this.servers),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.begin()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("clearway.program")) this.begin();
        else if (event.affectsConfiguration("clearway")) this.show();
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => this.warn(editor)),
    );
    this.offer();
    this.begin();
  }

  dispose(): void {
    this.folders.forEach((each) => each.dispose());
    this.kept.forEach((each) => each.dispose());
    this.panel?.dispose();
  }

  /** Follow the folders there are now. */
  private begin(): void {
    this.folders.forEach((each) => each.dispose());
    this.folders = [];
    const found = find({
      setting: vscode.workspace.getConfiguration("clearway").get<string>("program", ""),
      environ: process.env,
      windows: process.platform === "win32",
      isProgram,
    });
    if ("problem" in found) {
      this.program = "";
      this.status.text = "$(warning) clearway";
      this.status.tooltip = found.problem;
      this.status.command = { command: "workbench.action.openSettings", title: "", arguments: ["clearway.program"] };
      this.status.show();
      this.servers.refresh();
      return;
    }
    this.program = found.program;
    this.status.command = "clearway.showRoom";
    this.folders = (vscode.workspace.workspaceFolders ?? [])
      .filter((folder) => folder.uri.scheme === "file")
      .map((folder) => new Folder(folder, found.program, () => this.show()));
    this.show();
  }

  /** Show what is known now. */
  private show(): void {
    const states = this.folders.flatMap((each) => (each.state ? [each.state] : []));
    void vscode.commands.executeCommand("setContext", "clearway.hasRoom", states.length > 0);
    this.lists.forEach((each) => each.refresh());
    this.marks.settle();
    this.marks.refresh();
    this.servers.refresh();
    const problem = this.folders.find((each) => each.problem)?.problem;
    if (!states.length && !problem) {
      this.status.hide();
    } else {
      const others = states.flatMap((state) => state.agents.filter((agent) => agent.session !== state.session));
      const paths = states.reduce((sum, state) => sum + state.held.length, 0);
      const unread = states.reduce((sum, state) => sum + state.unread, 0);
      this.status.text = `$(git-merge) ${others.length} · ${paths} held${unread ? ` · $(mail) ${unread}` : ""}`;
      this.status.tooltip = problem
        ? `Clearway: ${problem.message}`
        : `Clearway: ${others.length} agents are here, ${paths} paths are held, ${unread} messages wait for you`;
      this.status.show();
    }
    this.draw();
    this.warn(vscode.window.activeTextEditor);
  }

  private warn(editor: vscode.TextEditor | undefined): void {
    const told = editor ? this.marks.warning(editor.document.uri) : "";
    if (told) void vscode.window.showWarningMessage(told, "Show the room").then((chosen) => chosen && this.open());
  }

  // --- what a person can do -----------------------------------------------------------------------------------

  private offer(): void {
    const deeds: Record<string, (chosen: unknown) => Promise<unknown>> = {
      init: () => this.inFolder(undefined, (each) => this.tell(each, ["init"], "This repository has a room now.")),
      connect: () => this.inFolder(undefined, async (each) => this.connect(each)),
      openRoom: () => this.inFolder(undefined, async (each) => this.tell(each, ["web", "--open"], "")),
      showRoom: async () => this.open(),
      refresh: () => Promise.all(this.folders.map((each) => each.watch.look())),
      claimFile: (chosen) => this.withFile(chosen, (each, file) => this.tell(each, ["claim", file, "--purpose", "in the editor"], `You hold ${file}.`)),
      releaseFile: (chosen) => this.withFile(chosen, (each, file) => this.tell(each, ["release", file], `${file} is free.`)),
      claimIssue: (chosen) => this.inFolder(chosen, async (each) => this.claimIssue(each, chosen)),
      message: (chosen) => this.inFolder(chosen, async (each) => this.message(each, chosen)),
    };
    for (const [name, deed] of Object.entries(deeds)) {
      this.keep(vscode.commands.registerCommand(`clearway.${name}`, (chosen: unknown) => this.heard(deed(chosen))));
    }
  }

  private async connect(each: Folder): Promise<void> {
    const shown = vscode.window.createTerminal({ name: "clearway connect", cwd: each.folder.uri });
    shown.show();
    shown.sendText(`"${this.program}" connect`, true);
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

  private open(): void {
    if (this.panel) {
      this.panel.reveal();
    } else {
      this.panel = vscode.window.createWebviewPanel("clearway.room", "Clearway", vscode.ViewColumn.Beside, {
        enableScripts: false,
        localResourceRoots: [],
      });
      this.panel.onDidDispose(() => (this.panel = undefined));
    }
    this.draw();
  }

  private draw(): void {
    if (!this.panel) return;
    const shown = this.folders.find((each) => each.state) ?? this.folders[0];
    this.panel.webview.html = page(shown?.state, shown?.problem?.message ?? "");
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
    if (!asked.length) throw new Refused("PROJECT_NOT_FOUND", "Open a folder first, and see that clearway can be found.");
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

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
