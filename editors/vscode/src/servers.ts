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
    private readonly users: string[],
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
        !isRegistered(folder, this.users),
    );
  }
}

/** The files in which the editor finds servers of the user. storage: where this extension may keep its own. */
export function usersFiles(storage: string, environ: Readonly<Record<string, string | undefined>>): string[] {
  const profile = path.resolve(storage, "..", "..");
  const users = path.basename(path.dirname(profile)) === "profiles" ? [profile, path.resolve(profile, "..", "..")] : [profile];
  const copilot = environ["COPILOT_HOME"] || path.join(environ["HOME"] ?? environ["USERPROFILE"] ?? "", ".copilot");
  return [...users.map((each) => path.join(each, "mcp.json")), path.join(copilot, "mcp-config.json")];
}

/** Whether a person or `clearway connect` has registered it already, for this folder or for the user. */
function isRegistered(folder: vscode.WorkspaceFolder, users: string[]): boolean {
  const configured = vscode.workspace.getConfiguration("mcp", folder.uri).get<Record<string, unknown>>("servers");
  if (configured && isAmong(configured)) return true;
  const folders = [".vscode/mcp.json", ".mcp.json"].map((name) => path.join(folder.uri.fsPath, name));
  return [...folders, ...users].some(names);
}

/** Under our name, or under another with our program. */
function isAmong(servers: object): boolean {
  return Object.entries(servers).some(([name, server]) => {
    const { command } = (server ?? {}) as { command?: unknown };
    return name === NAME || (typeof command === "string" && /(^|[\\/])clearway(\.exe|\.cmd)?$/.test(command));
  });
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
    return isAmong(read.servers ?? {}) || isAmong(read.mcpServers ?? {});
  } catch {
    // With comments in it, or broken: rather none than two.
    return /"clearway"\s*:/.test(text);
  }
}
