/** The page of the program that is used, made fit for a frame: its files by the editor, no network, and no script but
 * those that the page itself loads. */

import { Refused } from "./asking.ts";

/** index: the page's own index.html. base: where the frame finds its files. source: whence the editor serves files. */
export function frame(index: string, base: string, source: string, nonce: string): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${source}`,
    `img-src ${source}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
  const [head, ...rest] = index.split(/(?<=<meta charset="utf-8">)/);
  if (!head || rest.length !== 1 || !index.includes('src="/web/js/start.mjs"')) {
    throw new Refused("UNSUPPORTED", "The page of this clearway is another than the extension knows; update both.");
  }
  const page = rest[0]!
    .replace(/<link rel="icon"[^>]*>\n?/, "")
    .replace(/<script /g, `<script nonce="${nonce}" `)
    .replace(/<link rel="modulepreload" /g, `<link rel="modulepreload" nonce="${nonce}" `)
    .replace(/ (src|href)="\/web\//g, ` $1="${base}/`);
  return `${head}
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${base}/editor.css">${page}`;
}
