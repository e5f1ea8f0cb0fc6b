/** The room as a tab of the editor: the whole page, and where the host cannot be asked a look without a script. */

import * as crypto from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { Bridge } from "./bridge.ts";
import type { Door } from "./door.ts";
import { frame } from "./frame.ts";

export const TYPE = "clearway.room";

/** Where the page is led: a room, and what is opened at its side. */
export interface Place {
  room: string;
  panel?: [kind: string, id: string];
}

export class RoomPanel implements vscode.WebviewPanelSerializer {
  private panel: vscode.WebviewPanel | undefined;
  private bridge: Bridge | undefined;
  private place: Place | undefined;
  private isWhole = false;
  private filling: Promise<void> | undefined;

  constructor(
    private readonly door: () => Door | undefined,
    private readonly rooms: () => string[],
    private readonly look: (problem: string) => string,
    private readonly icon: vscode.Uri,
  ) {}

  /** Show the room, at that place. */
  open(place: Place | undefined): Promise<void> {
    this.place = place;
    if (this.panel) {
      this.panel.reveal();
      if (this.isWhole) {
        this.lead();
        return Promise.resolve();
      }
      return this.fill();
    }
    const made = vscode.window.createWebviewPanel(TYPE, "Clearway", vscode.ViewColumn.Beside, { retainContextWhenHidden: true });
    return this.adopt(made);
  }

  /** One that was open when the window was loaded again. */
  deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    return this.adopt(panel);
  }

  /** Something is new: only a look has to be drawn again, or can now become more. */
  async refresh(): Promise<void> {
    if (this.panel && !this.isWhole) await this.fill();
  }

  /** Begin again: another program, or other folders. */
  async renew(): Promise<void> {
    this.isWhole = false;
    await this.refresh();
  }

  /** The tab stays, for the window that is loaded next. */
  dispose(): void {
    this.bridge?.dispose();
  }

  private async adopt(panel: vscode.WebviewPanel): Promise<void> {
    this.panel?.dispose();
    this.panel = panel;
    this.isWhole = false;
    panel.iconPath = this.icon;
    panel.webview.onDidReceiveMessage((message: unknown) => this.hear(message));
    panel.onDidDispose(() => {
      if (this.panel !== panel) return;
      this.panel = undefined;
      this.bridge?.dispose();
      this.bridge = undefined;
      void this.door()?.leave();
    });
    await this.fill();
  }

  private fill(): Promise<void> {
    this.filling ??= this.filled().finally(() => (this.filling = undefined));
    return this.filling;
  }

  private async filled(): Promise<void> {
    const door = this.door();
    try {
      if (!door || !this.rooms().length) return this.show(this.look(""));
      await door.enter();
      const folder = vscode.Uri.file(door.page);
      const index = await fs.readFile(path.join(door.page, "index.html"), "utf-8");
      const { panel } = this;
      if (!panel) return;
      const { webview } = panel;
      webview.options = { enableScripts: true, enableForms: true, localResourceRoots: [folder] };
      const html = frame(index, String(webview.asWebviewUri(folder)), webview.cspSource, crypto.randomBytes(18).toString("base64url"));
      this.cross(door, webview);
      this.isWhole = true;
      webview.html = html;
    } catch (error) {
      this.show(this.look(error instanceof Error ? error.message : String(error)));
    }
  }

  private show(look: string): void {
    if (!this.panel) return;
    this.panel.webview.options = { enableScripts: false, localResourceRoots: [] };
    this.panel.webview.html = look;
  }

  private cross(door: Door, webview: vscode.Webview): void {
    this.bridge?.dispose();
    const rooms = () => {
      const first = this.place?.room;
      const all = this.rooms();
      return first && all.includes(first) ? [first, ...all.filter((each) => each !== first)] : all;
    };
    this.bridge = new Bridge({ door, rooms, say: (message) => void webview.postMessage(message) });
  }

  private hear(message: unknown): void {
    if (!this.isWhole) return;
    const verb = typeof message === "object" && message !== null && "verb" in message ? message.verb : "";
    if (verb === "here") this.begin();
    else if (verb === "again") void this.renew();
    else this.bridge?.hear(message);
  }

  private begin(): void {
    this.bridge?.begin();
    this.lead();
  }

  private lead(): void {
    if (this.place) void this.panel?.webview.postMessage({ go: this.place });
    this.place = undefined;
  }
}
