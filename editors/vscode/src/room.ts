/** What a room says, as the editor shows it. Answers are read with care: another version may say less. */

import * as path from "node:path";
import type { Answer } from "./asking.ts";

export interface Agent {
  name: string;
  session: string;
  presence: string;
  doing: string;
  advisory: boolean;
}

export interface Held {
  path: string;
  agent: string;
  session: string;
  purpose: string;
  mode: string;
  until: string;
  here: boolean;
}

export interface Issue {
  id: string;
  title: string;
  column: string;
  agent: string;
}

export interface State {
  project: string;
  root: string;
  me: string;
  session: string;
  agents: Agent[];
  held: Held[];
  issues: Issue[];
  counts: Record<string, number>;
  unread: number;
  latest: number;
}

const OPEN = new Set(["queued", "seen"]);
export const COLUMNS = ["live", "review", "blocked", "ready", "open", "done"] as const;

export function read(status: Answer, room: Answer, board: Answer): State {
  const checkout = text(status, "checkout");
  const me = object(room, "me");
  const session = text(me, "session");
  return {
    project: text(status, "project_id"),
    root: text(status, "root"),
    me: text(me, "agent"),
    session,
    agents: list(room, "agents").map((each) => ({
      name: text(each, "agent"),
      session: text(each, "session"),
      presence: text(each, "presence"),
      doing: text(each, "doing") || text(each, "issue"),
      advisory: "hooks" in each,
    })),
    held: list(board, "paths").map((each) => ({
      path: text(each, "path"),
      agent: text(each, "agent"),
      session: text(each, "session"),
      purpose: text(each, "purpose"),
      mode: text(each, "mode"),
      until: text(each, "until"),
      here: !checkout || text(each, "checkout") === checkout,
    })),
    issues: COLUMNS.flatMap((column) =>
      list(object(board, "columns"), column).map((each) => ({
        id: text(each, "display_id"),
        title: text(each, "title"),
        column,
        agent: text(object(each, "live"), "agent"),
      })),
    ),
    counts: Object.fromEntries(
      Object.entries(object(board, "counts")).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
    ),
    unread: unread(room, text(me, "agent")),
    latest: typeof board["latest_event_id"] === "number" ? board["latest_event_id"] : 0,
  };
}

/** How many messages wait for a person, who is told all that is said in a room. */
function unread(room: Answer, me: string): number {
  const mine = list(room, "messages").filter((each) => text(each, "to") === me && OPEN.has(text(each, "state")));
  return new Set([...mine, ...list(room, "waiting_for_you")].map((each) => each["message_id"])).size;
}

/** Who holds a file of this checkout, other than the person who looks at it. */
export function holder(state: State, file: string): Held | undefined {
  const relative = path.relative(state.root, file).split(path.sep).join("/");
  if (!relative || relative.startsWith("../") || path.isAbsolute(relative)) return undefined;
  return state.held.find(
    (held) =>
      held.here &&
      held.mode === "edit" &&
      held.session !== state.session &&
      (held.path === relative || held.path === "." || relative.startsWith(`${held.path}/`)),
  );
}

/** "held by codex until 17:41: refactor" */
export function sentence(held: Held): string {
  const until = held.until ? ` until ${clock(held.until)}` : "";
  return `held by ${held.agent}${until}${held.purpose ? `: ${held.purpose}` : ""}`;
}

export function clock(moment: string): string {
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return moment;
  return `${String(at.getHours()).padStart(2, "0")}:${String(at.getMinutes()).padStart(2, "0")}`;
}

function object(from: Answer, name: string): Answer {
  const found = from[name];
  return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Answer) : {};
}

function list(from: Answer, name: string): Answer[] {
  const found = from[name];
  return Array.isArray(found) ? found.filter((each): each is Answer => typeof each === "object" && each !== null) : [];
}

function text(from: Answer, name: string): string {
  const found = from[name];
  return typeof found === "string" ? found : "";
}
