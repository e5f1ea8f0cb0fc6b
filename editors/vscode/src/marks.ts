/** Held files as the explorer and the editor show them. */

import * as vscode from "vscode";
import { holder, sentence, type Held } from "./room.ts";
import type { Followed } from "./views.ts";

export class Marks implements vscode.FileDecorationProvider {
  private readonly told = new vscode.EventEmitter<undefined>();
  readonly onDidChangeFileDecorations = this.told.event;
  private readonly warned = new Set<string>();

  constructor(private readonly all: () => Followed[]) {}

  refresh(): void {
    this.told.fire(undefined);
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const found = this.holder(uri);
    if (!found || !option(uri, "decorate")) return undefined;
    const badge = found.agent.slice(0, 1).toUpperCase();
    return new vscode.FileDecoration(badge, sentence(found), new vscode.ThemeColor("clearway.held"));
  }

  /** What to say to someone who has this file before them, and of which path of which room; once a lease. */
  warning(uri: vscode.Uri): { text: string; room: string; path: string } | undefined {
    const found = this.holder(uri);
    if (!found || !option(uri, "warnWhenHeld")) return undefined;
    const lease = `${uri.toString()} ${found.session}`;
    if (this.warned.has(lease)) return undefined;
    this.warned.add(lease);
    const text = `${found.path} is ${sentence(found)}. Your edit and its would overwrite each other.`;
    return { text, room: found.room, path: found.path };
  }

  /** Forget what was said of leases that are over, so that a new one is told again. */
  settle(): void {
    for (const lease of this.warned) {
      const [uri, session] = lease.split(" ");
      if (uri && this.holder(vscode.Uri.parse(uri))?.session !== session) this.warned.delete(lease);
    }
  }

  private holder(uri: vscode.Uri): (Held & { room: string }) | undefined {
    if (uri.scheme !== "file") return undefined;
    for (const { state } of this.all()) {
      const found = state && holder(state, uri.fsPath);
      if (found) return { ...found, room: state.project };
    }
    return undefined;
  }
}

function option(uri: vscode.Uri, name: string): boolean {
  return vscode.workspace.getConfiguration("clearway", uri).get<boolean>(name, true);
}
