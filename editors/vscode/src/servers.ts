/** Offers the MCP server to agents of this window: one for each folder with a room, and never a second one. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Followed } from "./views.ts";

const NAME = "clearway";

export class Servers implements vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition> {
  private readonly told = new vscode.EventEmitter<void>();
  readonly onDidChangeMcpServerDefinitions = this.told.event;
  private last = "";

  constructor(
    private readonly all: () => Followed[],
    private readonly program: () => string,
    private readonly version: string,
  ) {}

  /** Say so if another list would be given now. */
  refresh(): void {
    const now = JSON.stringify(this.wanted().map((each) => each.folder.uri.toString()));
    if (now === this.last) return;
    this.last = now;
    this.told.fire();
  }

  provideMcpServerDefinitions(): vscode.McpStdioServerDefinition[] {
    return this.wanted().map(({ folder }) => {
      const several = this.all().length > 1;
      const label = several ? `Clearway (${folder.name})` : "Clearway";
      const server = new vscode.McpStdioServerDefinition(label, this.program(), ["mcp"], {}, this.version);
      server.cwd = folder.uri;
      return server;
    });
  }

  private wanted(): Followed[] {
    if (!vscode.workspace.isTrusted || !this.program()) return [];
    return this.all().filter(
      ({ folder, state }) =>
        state &&
        vscode.workspace.getConfiguration("clearway", folder.uri).get<boolean>("registerServer", true) &&
        !isRegistered(folder),
    );
  }
}

/** Whether a person or `clearway connect` has registered it already, for this folder or for the user. */
export function isRegistered(folder: vscode.WorkspaceFolder): boolean {
  const configured = vscode.workspace.getConfiguration("mcp", folder.uri).get<Record<string, unknown>>("servers");
  if (configured && NAME in configured) return true;
  return [".vscode/mcp.json", ".mcp.json"].some((name) => names(path.join(folder.uri.fsPath, name)));
}

function names(file: string): boolean {
  let text: string;
  try {
    text = fs.readFileSync(file, "utf-8");
  } catch {
    return false;
  }
  try {
    const read = JSON.parse(text) as { servers?: object; mcpServers?: object };
    return NAME in (read.servers ?? {}) || NAME in (read.mcpServers ?? {});
  } catch {
    // With comments in it, or broken: rather none than two.
    return /"clearway"\s*:/.test(text);
  }
}
