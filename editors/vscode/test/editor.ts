/** A stand-in for the editor: as much of it as the extension uses, and it remembers what it was told. */

export class EventEmitter<T> {
  private readonly heard: ((value: T) => void)[] = [];
  readonly event = (listener: (value: T) => void) => {
    this.heard.push(listener);
    return { dispose: () => void this.heard.splice(this.heard.indexOf(listener), 1) };
  };
  fire(value: T): void {
    this.heard.forEach((each) => each(value));
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly fsPath: string,
  ) {}
  static file(path: string): Uri {
    return new Uri("file", path);
  }
  static parse(text: string): Uri {
    return new Uri("file", decodeURI(text.replace("file://", "")));
  }
  static joinPath(uri: Uri, ...parts: string[]): Uri {
    return new Uri("file", [uri.fsPath, ...parts].join("/"));
  }
  toString(): string {
    return `file://${encodeURI(this.fsPath)}`;
  }
}

export class TreeItem {
  constructor(
    readonly label: string,
    readonly collapsibleState?: number,
  ) {}
}
export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class ThemeColor {
  constructor(readonly id: string) {}
}
export class FileDecoration {
  constructor(
    readonly badge: string,
    readonly tooltip: string,
    readonly color: ThemeColor,
  ) {}
}
export class McpStdioServerDefinition {
  cwd: Uri | undefined;
  constructor(
    readonly label: string,
    readonly command: string,
    readonly args: string[],
    readonly env: Record<string, string>,
    readonly version: string,
  ) {}
}
export class ProcessExecution {
  constructor(
    readonly process: string,
    readonly args: string[],
  ) {}
}
export class Task {
  presentationOptions: unknown;
  constructor(
    readonly definition: unknown,
    readonly scope: unknown,
    readonly name: string,
    readonly source: string,
    readonly execution: ProcessExecution,
  ) {}
}
export const TaskRevealKind = { Always: 1 };
export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };
export const StatusBarAlignment = { Left: 1, Right: 2 };
export const ViewColumn = { Beside: -2 };

const nothing = { dispose() {} };

/** A tab that shows a page, and what passes between the two. */
export class Panel {
  readonly said: Record<string, unknown>[] = [];
  readonly heard = new EventEmitter<unknown>();
  readonly gone = new EventEmitter<void>();
  readonly webview = {
    options: {} as Record<string, unknown>,
    html: "",
    cspSource: "https://files.editor",
    asWebviewUri: (uri: Uri) => `https://files.editor${uri.fsPath}`,
    onDidReceiveMessage: this.heard.event,
    postMessage: async (message: Record<string, unknown>) => void this.said.push(message),
  };
  iconPath: unknown;
  readonly onDidDispose = this.gone.event;
  reveal(): void {}
  dispose(): void {
    this.gone.fire();
  }
}

/** What a test sets and looks at. */
export const told = {
  settings: {} as Record<string, unknown>,
  servers: undefined as Record<string, unknown> | undefined,
  folders: [] as { uri: Uri; name: string; index: number }[],
  context: {} as Record<string, unknown>,
  commands: {} as Record<string, (chosen?: unknown) => Promise<unknown>>,
  errors: [] as string[],
  warnings: [] as string[],
  picks: [] as string[],
  typed: "",
  sure: false,
  bar: { text: "", tooltip: "", shown: false, command: undefined as unknown },
  panels: [] as Panel[],
  tasks: [] as Task[],
  providers: {} as Record<string, unknown>,
  editorChanged: new EventEmitter<unknown>(),
  notebookChanged: new EventEmitter<unknown>(),
  saved: new EventEmitter<unknown>(),
  foldersChanged: new EventEmitter<void>(),
};

export const workspace = {
  isTrusted: true,
  get workspaceFolders() {
    return told.folders;
  },
  getWorkspaceFolder: (uri: Uri) => told.folders.find((each) => uri.fsPath.startsWith(`${each.uri.fsPath}/`)),
  getConfiguration: (section: string) => ({
    get: (name: string, otherwise?: unknown) =>
      section === "mcp" ? told.servers : (told.settings[`${section}.${name}`] ?? otherwise),
  }),
  onDidChangeWorkspaceFolders: told.foldersChanged.event,
  onDidChangeConfiguration: () => nothing,
  onDidSaveTextDocument: told.saved.event,
};

export const window = {
  activeTextEditor: undefined as unknown,
  createStatusBarItem: () =>
    Object.assign(told.bar, {
      name: "",
      show: () => void (told.bar.shown = true),
      hide: () => void (told.bar.shown = false),
      dispose() {},
    }),
  registerTreeDataProvider: (name: string, provider: unknown) => ((told.providers[name] = provider), nothing),
  registerFileDecorationProvider: (provider: unknown) => ((told.providers["marks"] = provider), nothing),
  onDidChangeActiveTextEditor: told.editorChanged.event,
  activeNotebookEditor: undefined as unknown,
  onDidChangeActiveNotebookEditor: told.notebookChanged.event,
  showErrorMessage: async (text: string) => void told.errors.push(text),
  showWarningMessage: async (text: string, ...more: unknown[]) => (told.warnings.push(text), told.sure ? more.at(-1) : undefined),
  showQuickPick: async (items: (string | { label: string })[]) => {
    const wanted = told.picks.shift();
    return items.find((each) => (typeof each === "string" ? each : each.label) === wanted);
  },
  showInputBox: async () => told.typed,
  setStatusBarMessage: () => nothing,
  createWebviewPanel: () => {
    const made = new Panel();
    told.panels.push(made);
    return made;
  },
  registerWebviewPanelSerializer: (_: string, serializer: unknown) => ((told.providers["panel"] = serializer), nothing),
};

export const tasks = { executeTask: async (task: Task) => void told.tasks.push(task) };

export const commands = {
  executeCommand: async (name: string, key: string, value: unknown) => {
    if (name === "setContext") told.context[key] = value;
  },
  registerCommand: (name: string, act: (chosen?: unknown) => Promise<unknown>) => ((told.commands[name] = act), nothing),
};

export const lm = {
  registerMcpServerDefinitionProvider: (_: string, provider: unknown) => ((told.providers["servers"] = provider), nothing),
};
