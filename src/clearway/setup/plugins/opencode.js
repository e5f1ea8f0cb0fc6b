// Clearway's plugin for OpenCode: every tool call is shown to the guard before it is made and after it.
// Written by `clearway connect opencode`, removed by `clearway disconnect opencode`. Changes here do not last.
//
// OpenCode runs plugins inside itself, so this file does as little as possible: it hands what happens to the registered
// interpreter, bounded in time, and passes on the answer. A denial is thrown. If Clearway is gone, everything is allowed.

import { spawn } from "node:child_process"
import { existsSync } from "node:fs"

const HOOK = {}

const ANSWER_BYTES_MAX = 1_000_000
const PROMPT_CHARS_MAX = 20_000
const REMEMBERED_MAX = 10_000

export const Clearway = async ({ client, directory, worktree }) => {
  const parents = new Map() // session -> the session that started it as a subagent, or "" for none
  const seenCreated = new Set() // sessions that began while this plugin runs; others are resumed
  const begun = new Map() // root session -> the question at its start, asked once
  const waiting = new Map() // session -> what its model is to read as soon as it reads anything
  const open = new Map() // call -> what was called; a call that fails has no hook, only an event
  const asking = new Set() // what is still on its way when OpenCode leaves
  let complained = false

  const complain = (message) => {
    if (complained) return
    complained = true
    Promise.resolve()
      .then(() => client.app.log({ body: { service: "clearway", level: "warn", message } }))
      .catch(() => {})
  }

  const failsClosed = () => {
    const said = process.env.CLEARWAY_FAIL_CLOSED ?? ""
    return Boolean(HOOK.environment.CLEARWAY_FAIL_CLOSED) || ["1", "true", "yes", "on"].includes(said.trim().toLowerCase())
  }

  // The answer to one event: {deny?, context?}. Never throws.
  const ask = (payload) => {
    const question = new Promise((resolve) => {
      const failed = (reason) => {
        complain(`clearway: ${reason}`)
        const closed = failsClosed() && payload.hook === "tool.execute.before"
        resolve(closed ? { deny: `${reason} (the guard is set to fail closed)` } : {})
      }
      if (!existsSync(HOOK.interpreter)) {
        complain("clearway: not installed, guard open") // what is missing can enforce nothing
        return resolve({})
      }
      try {
        const hook = spawn(HOOK.interpreter, HOOK.arguments, {
          cwd: existsSync(directory) ? directory : undefined,
          env: { ...process.env, ...HOOK.environment },
          stdio: ["pipe", "pipe", "pipe"],
          windowsHide: true,
        })
        const late = setTimeout(() => {
          hook.kill("SIGKILL")
          failed("The guard was not answered in time.")
        }, HOOK.wait_ms)
        const said = { out: "", err: "" }
        const keep = (name) => (part) => {
          if (said[name].length < ANSWER_BYTES_MAX) said[name] += part
        }
        hook.stdout.setEncoding("utf8").on("data", keep("out"))
        hook.stderr.setEncoding("utf8").on("data", keep("err"))
        hook.stdin.on("error", () => {}) // it may answer without having read to the end
        hook.on("error", (error) => {
          clearTimeout(late)
          failed(`The guard could not be asked: ${error.message}.`)
        })
        hook.on("close", (code) => {
          clearTimeout(late)
          if (said.err.trim()) complain(said.err.trim().slice(0, 500))
          if (code !== 0) return failed(`The guard ended with ${code}.`)
          try {
            resolve(said.out.trim() ? JSON.parse(said.out) : {})
          } catch {
            failed("The guard's answer cannot be read.")
          }
        })
        hook.stdin.end(JSON.stringify({ ...payload, directory, worktree, pid: process.pid }))
      } catch (error) {
        failed(`The guard could not be asked: ${error.message}.`)
      }
    })
    asking.add(question)
    question.finally(() => asking.delete(question))
    return question
  }

  const remember = (map, key, value) => {
    if (map.size >= REMEMBERED_MAX) map.delete(map.keys().next().value)
    map.set(key, value)
  }

  // The session at the top: subagents work under its leases.
  const rootOf = async (session) => {
    let here = session
    for (let depth = 0; depth < 20; depth++) {
      if (!parents.has(here)) {
        let parent = ""
        try {
          parent = (await client.session.get({ path: { id: here } }))?.data?.parentID ?? ""
        } catch {} // unknown to the server: then it is nobody's child
        remember(parents, here, parent)
      }
      if (!parents.get(here)) return here
      here = parents.get(here)
    }
    return here
  }

  const keepForLater = (session, context) => {
    if (context) waiting.set(session, [waiting.get(session), context].filter(Boolean).join("\n"))
  }

  const kept = (session) => {
    const context = waiting.get(session)
    waiting.delete(session)
    return context
  }

  const begin = (root, source) => {
    if (source || !begun.has(root)) {
      const how = source ?? (seenCreated.has(root) ? "startup" : "resume")
      const question = ask({ hook: "session", input: { sessionID: root, event: "start", source: how }, root })
      begun.set(root, question.then((said) => keepForLater(root, said.context)))
    }
    return begun.get(root)
  }

  const ended = async (session, source) => {
    if (!begun.has(session)) return
    begun.delete(session)
    await ask({ hook: "session", input: { sessionID: session, event: "end", source }, root: session })
  }

  const events = {
    "session.created": async ({ info }) => {
      remember(parents, info.id, info.parentID ?? "")
      seenCreated.add(info.id)
    },
    "session.idle": async ({ sessionID }) => {
      const root = await rootOf(sessionID)
      await ask({ hook: "idle", input: { sessionID }, root })
    },
    "session.compacted": async ({ sessionID }) => {
      if ((await rootOf(sessionID)) === sessionID) await begin(sessionID, "compact")
    },
    "session.deleted": async ({ info }) => ended(info.id, "deleted"),
    "message.part.updated": async ({ part }) => {
      if (part.type !== "tool" || part.state?.status !== "error" || !open.has(part.callID)) return
      const { tool, sessionID, args } = open.get(part.callID)
      open.delete(part.callID)
      const root = await rootOf(sessionID)
      const input = { tool, sessionID, callID: part.callID, args }
      const said = await ask({ hook: "tool.execute.after", input, output: { error: "failed" }, root })
      keepForLater(sessionID, said.context)
    },
  }

  return {
    event: async ({ event }) => {
      try {
        await events[event.type]?.(event.properties)
      } catch (error) {
        complain(`clearway: ${error.message}`)
      }
    },

    "chat.message": async (input, output) => {
      try {
        const { sessionID } = input
        const root = await rootOf(sessionID)
        await begin(root)
        const texts = output.parts.filter((part) => part.type === "text").map((part) => part.text)
        const prompt = texts.join("\n").slice(0, PROMPT_CHARS_MAX)
        const said = await ask({ hook: "chat.message", input: { sessionID }, output: { prompt }, root })
        const context = [kept(sessionID), said.context].filter(Boolean).join("\n")
        if (!context) return
        const like = output.parts.find((part) => part.type === "text")
        if (!like) return keepForLater(sessionID, context)
        output.parts.push({ ...like, id: `${like.id}z`, text: context, synthetic: true })
      } catch (error) {
        complain(`clearway: ${error.message}`)
      }
    },

    "tool.execute.before": async (input, output) => {
      let said = {}
      try {
        const { tool, sessionID, callID } = input
        const root = await rootOf(sessionID)
        await begin(root)
        said = await ask({ hook: "tool.execute.before", input, output: { args: output.args }, root })
        if (!said.deny) remember(open, callID, { tool, sessionID, args: output.args })
        keepForLater(sessionID, said.context)
      } catch (error) {
        complain(`clearway: ${error.message}`)
      }
      if (said.deny) throw new Error(said.deny)
    },

    "tool.execute.after": async (input, output) => {
      try {
        open.delete(input.callID)
        const root = await rootOf(input.sessionID)
        const told = { metadata: { exit: output?.metadata?.exit } }
        const said = await ask({ hook: "tool.execute.after", input, output: told, root })
        const context = [kept(input.sessionID), said.context].filter(Boolean).join("\n")
        if (!context) return
        if (typeof output?.output === "string") output.output += `\n\n${context}`
        else if (Array.isArray(output?.content)) output.content.push({ type: "text", text: context })
        else keepForLater(input.sessionID, context)
      } catch (error) {
        complain(`clearway: ${error.message}`)
      }
    },

    "experimental.session.compacting": async ({ sessionID }) => {
      try {
        const root = await rootOf(sessionID)
        if (root === sessionID) await ask({ hook: "session", input: { sessionID, event: "compact" }, root })
      } catch (error) {
        complain(`clearway: ${error.message}`)
      }
    },

    dispose: async () => {
      try {
        await Promise.all(asking)
        await Promise.all([...begun.keys()].map((root) => ended(root, "other")))
      } catch (error) {
        complain(`clearway: ${error.message}`)
      }
    },
  }
}
