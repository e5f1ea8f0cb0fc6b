/** The three lists at the side: who is here, what is held, where the work stands. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { COLUMNS, clock, type State } from "./room.ts";

/** A folder of the window and what is known of its room. */
export interface Followed {
  folder: vscode.WorkspaceFolder;
  state: State | undefined;
  problem: Error | undefined;
}

export class Row extends vscode.TreeItem {
  constructor(
    label: string,
    readonly followed: Followed,
    readonly subject: string,
    readonly rows: Row[] = [],
    /** What the room opens at its side for it. */
    readonly panel?: [kind: string, id: string],
  ) {
    super(label, rows.length ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None);
    if (panel) this.command = { command: "clearway.showRoom", title: "Show in the Room", arguments: [this] };
  }
}

export class Rows implements vscode.TreeDataProvider<Row> {
  private readonly told = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.told.event;

  constructor(
    private readonly all: () => Followed[],
    private readonly of: (followed: Followed, state: State) => Row[],
  ) {}

  refresh(): void {
    this.told.fire();
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return row;
  }

  getChildren(row?: Row): Row[] {
    if (row) return row.rows;
    const known = this.all().filter((each) => each.state || each.problem);
    const several = known.length > 1;
    return known.flatMap((each) => {
      const rows = each.state ? this.of(each, each.state) : [problem(each)];
      return several ? [group(each.folder.name, each, rows)] : rows;
    });
  }
}

export function agents(followed: Followed, state: State): Row[] {
  return state.agents
    .filter((agent) => agent.session !== state.session)
    .map((agent) => {
      const row = new Row(agent.name, followed, agent.name, [], ["agent", agent.session]);
      row.description = [agent.presence, agent.doing, agent.advisory ? "advisory only" : ""].filter(Boolean).join(" · ");
      row.iconPath = new vscode.ThemeIcon(agent.presence === "busy" ? "circle-filled" : "circle-outline");
      row.tooltip = agent.advisory ? `${agent.session}: its client only advises, nothing stops its edits` : agent.session;
      row.contextValue = "agent";
      return row;
    });
}

export function held(followed: Followed, state: State): Row[] {
  return state.held.map((each) => {
    const file = each.path.startsWith("@") ? each.path : path.join(state.root, each.path);
    const isHere = each.here && isFile(file);
    const row = new Row(each.path, followed, file, [], isHere ? undefined : ["path", each.path]);
    row.description = `${each.agent}${each.until ? ` until ${clock(each.until)}` : ""}${each.here ? "" : " · other checkout"}`;
    row.tooltip = each.purpose || each.session;
    row.contextValue = each.here ? (each.session === state.session ? "held" : "foreign") : "elsewhere";
    row.iconPath = new vscode.ThemeIcon(each.mode === "run" ? "play-circle" : "lock");
    if (isHere) row.command = { command: "vscode.open", title: "Open", arguments: [vscode.Uri.file(file)] };
    return row;
  });
}

export function board(followed: Followed, state: State): Row[] {
  return COLUMNS.filter((column) => column !== "done").flatMap((column) => {
    const rows = state.issues
      .filter((issue) => issue.column === column)
      .map((issue) => {
        const row = new Row(issue.id, followed, issue.id, [], ["issue", issue.id]);
        row.description = issue.title + (issue.agent ? ` · ${issue.agent}` : "");
        row.tooltip = issue.title;
        row.contextValue = column;
        return row;
      });
    if (!rows.length) return [];
    const shown = group(column, followed, rows);
    const count = state.counts[column] ?? rows.length;
    shown.description = count > rows.length ? `${rows.length} of ${count}` : String(count);
    return [shown];
  });
}

function isFile(file: string): boolean {
  return fs.statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

function group(label: string, followed: Followed, rows: Row[]): Row {
  const row = new Row(label, followed, label, rows);
  row.contextValue = "group";
  return row;
}

function problem(followed: Followed): Row {
  const row = new Row("No answer", followed, "");
  row.description = followed.problem?.message ?? "";
  row.iconPath = new vscode.ThemeIcon("warning");
  return row;
}
