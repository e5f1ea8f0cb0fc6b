/** A look at the room, without a script: what is shown where no host can be asked for the page itself. */

import { COLUMNS, clock, type State } from "./room.ts";

export function page(state: State | undefined, problem: string): string {
  const why = problem || (state ? "" : "There is no room in this folder yet.");
  const inside = (why && `<p class="quiet">${safe(why)}</p>`) + (state ? room(state) : "");
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Clearway</title><style>${STYLE}</style></head><body>${inside}</body></html>`;
}

function room(state: State): string {
  const agents = state.agents.filter((agent) => agent.session !== state.session);
  return `<div class="sides"><section><h2>Agents</h2>${
    agents.length
      ? agents
          .map(
            (agent) =>
              `<p><b class="${agent.presence === "busy" ? "live" : ""}">${safe(agent.name)}</b> <span class="quiet">${safe(
                [agent.presence, agent.doing, agent.advisory ? "advisory only" : ""].filter(Boolean).join(" · "),
              )}</span></p>`,
          )
          .join("")
      : '<p class="quiet">nobody else is here</p>'
  }</section><section><h2>Held</h2>${
    state.held.length
      ? state.held
          .map(
            (held) =>
              `<p><code>${safe(held.path)}</code> ${safe(held.agent)} <span class="quiet">${safe(
                [held.purpose, held.until && `until ${clock(held.until)}`, held.here ? "" : "other checkout"]
                  .filter(Boolean)
                  .join(" · "),
              )}</span></p>`,
          )
          .join("")
      : '<p class="quiet">nothing is held</p>'
  }</section></div><div class="board">${COLUMNS.map((column) => {
    const issues = state.issues.filter((issue) => issue.column === column);
    return `<section class="${column}"><h2>${column} <span class="quiet">${state.counts[column] ?? issues.length}</span></h2>${issues
      .slice(0, 50)
      .map(
        (issue) =>
          `<p><code>${safe(issue.id)}</code> ${safe(issue.title)}${issue.agent ? ` <b>${safe(issue.agent)}</b>` : ""}</p>`,
      )
      .join("")}</section>`;
  }).join("")}</div>`;
}

/** Text of agents is text: it never becomes markup. */
export function safe(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

const STYLE = `
body { font: 13px/1.5 var(--vscode-font-family); color: var(--vscode-foreground); padding: 8px 16px; }
h2 { font-size: 13px; font-weight: 600; margin: 12px 0 4px; text-transform: capitalize; }
p { margin: 2px 0; overflow-wrap: anywhere; }
code { font-family: var(--vscode-editor-font-family); }
.quiet { color: var(--vscode-descriptionForeground); font-weight: 400; }
.live { color: var(--vscode-charts-green); }
.sides, .board { display: grid; gap: 0 24px; grid-template-columns: repeat(auto-fit, minmax(220px, 1fr)); }
.board { margin-top: 8px; border-top: 1px solid var(--vscode-panel-border); }
.board section { border-top: 2px solid transparent; }
.ready { border-color: var(--vscode-charts-blue) !important; }
.board .live { border-color: var(--vscode-charts-green) !important; color: inherit; }
.blocked { border-color: var(--vscode-charts-orange) !important; }
.review { border-color: var(--vscode-charts-purple) !important; }
`;
