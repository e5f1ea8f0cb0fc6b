"""A walk over the syntax tree of a command line, in the order in which a shell would run it.

It carries along where the shell stands and what its names mean, and collects every path that the line writes to, every
patch it applies, and every script it starts. It promises to end and never to raise: a command too long, too deep or not
readable leaves `unknown` set beside whatever was found. A branch is taken both ways, a loop as often as its words tell.
"""

from __future__ import annotations

import os

from clearway.guard import patches
from clearway.guard.glance import starts_nothing
from clearway.guard.shellbuiltins import BUILTINS, read_file
from clearway.guard.shellfound import SYSTEM_FOLDERS, Found
from clearway.guard.shellparse import TOO_LONG, Parser, every_node
from clearway.guard.shelltree import WRITING, fed_to, leaves, succeeds, unchained, whole_array
from clearway.guard.shellwords import (
    NOTHING,
    UNKNOWN,
    Scope,
    Value,
    ansi,
    defaulted,
    expanded,
    fields,
    join,
    plain,
    quoted,
    replaced,
    rewritten,
    substituted,
    trimmed,
    unescaped,
    unescaped_within,
)
from clearway.guard.starters import LAUNCHERS, interpreter, is_script_name, launched, read_inline, script_of
from clearway.guard.toolcall import Target
from clearway.guard.writers import (
    PATCHERS,
    RUNNING,
    SHELLS,
    WRAPPERS,
    WRITERS,
    XARGS_VALUED,
    Run,
    cannot_write,
    split_options,
    written_by,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clearway.guard.danger import Watch

    Node = dict[str, Any]

STEPS_MAX = 8_000  # statements walked, those of loops and functions each time
CALLS_MAX = 12  # functions within functions, scripts within scripts

_SUBSTITUTIONS = frozenset({"CmdSubst", "ProcSubst"})
_OTHER_EXPANSIONS = ("Excl", "Length", "Width", "Repl", "Slice", "Names", "NestedParam")
_XARGS_PIECEWISE = frozenset({"-n", "--max-args", "-L", "--max-lines", "-s", "--max-chars"})
_PROCESS_FILE_MAX = 63


class Walk(Found):
    """A walk over one command line. `unread` says why some of the line was not read at all; what stands in such text is
    only guessed (`guesses`)."""

    __slots__ = ("_calls", "_guessed", "_parser", "_steps", "guesses", "piped", "unread", "watch")

    def __init__(self, watch: Watch | None = None) -> None:
        """watch: hears of every program that is run, before it is, and of what each prints."""
        super().__init__()
        self.watch = watch
        self.guesses: dict[Target, None] = {}
        self.piped: dict[str, Value] = {}  # what is printed into `<(...)`, by the name of the file
        self.unread = ""
        self._parser = Parser()
        self._guessed = ""
        self._steps = 0
        self._calls = 0

    def read(self, command: str, cwd: str, home: str) -> None:
        try:
            self._read(command, Scope(cwd, home), None)
        except RecursionError:
            self.unread = TOO_LONG
        self.unread = self.unread or self._parser.failed
        if self.unread:
            self.unknown = True
            self._guess(command, cwd)

    def read_script(self, script: Value, scope: Scope, fed: Value | None) -> Value:
        """Walk a text that the line hands to a shell; gives back what it prints."""
        self.unknown = self.unknown or not script.known
        if len(script.texts) == 1:
            return self._read(script.texts[0], scope, fed)
        for text in script.texts:
            self._read(text, scope.copy(), fed)
        return UNKNOWN

    def _read(self, text: str, scope: Scope, fed: Value | None) -> Value:
        tree = self._parser.tree(text) if self._calls < CALLS_MAX else None
        if (tree is None or not tree.whole) and scope.cwd.text:
            self._guess(text, scope.cwd.text)
        if tree is None:
            self.unknown = True
            self.keep_patch(patches.in_unreadable(text), scope)
            return UNKNOWN
        self.unknown = self.unknown or not tree.whole
        self._calls += 1
        printed = self._statements(tree.statements, scope, fed)
        self._calls -= 1
        return printed

    def _guess(self, text: str, cwd: str) -> None:
        if text == self._guessed:
            return
        self._guessed = text
        from clearway.guard.shelltext import guessed  # seldom needed

        self.guesses.update((Target(os.path.join(cwd, target.path), "edit"), None) for target in guessed(text, cwd))

    # Statements.

    def _statements(self, nodes: list[Node] | None, scope: Scope, fed: Value | None) -> Value:
        printed = NOTHING
        for node in nodes or ():
            scope.go_on()
            printed = printed.then(self._statement(node, scope, fed))
        return printed

    def _statement(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        self._steps += 1
        if self._steps > STEPS_MAX or (self._steps % 64 == 0 and self._parser.is_late()):
            self.unread = TOO_LONG
            return UNKNOWN
        if node.get("Background"):
            scope = scope.copy()
        fed, elsewhere = self._redirections(node.get("Redirs") or [], scope, fed)
        if (script := fed_to(node, SHELLS)) is not None:
            self.start(self._one(script, scope), scope)
        command = node.get("Cmd")
        printed = self._command(command, scope, fed) if command else NOTHING
        return NOTHING if elsewhere else printed

    def _command(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        walk = self.COMMANDS.get(node["Type"])
        if walk:
            return walk(self, node, scope, fed)
        self._look_inside(node, scope)
        return NOTHING

    def _redirections(self, nodes: list[Node], scope: Scope, fed: Value | None) -> tuple[Value | None, bool]:
        """What the command will read instead, and whether what it prints goes elsewhere."""
        elsewhere = False
        for node in nodes:
            sign, word = node["Op"], node["Word"]
            if sign in {"<<", "<<-"}:
                fed = self._document(node, scope)
            elif sign == "<<<":
                fed = self._one(word, scope).then(Value(("\n",)))
            elif sign in {"<", "<&"}:
                fed = self._printed_into(word, scope)
            elif sign in WRITING:
                self._write_to(sign, self._one(word, scope), scope)
                elsewhere = elsewhere or (sign != "<>" and node.get("N", {}).get("Value", "1") == "1")
            else:
                self.unknown = True
        return fed, elsewhere

    def _write_to(self, sign: str, goal: Value, scope: Scope) -> None:
        if sign == ">&":  # a copy of a descriptor, unless a file is named
            goal = Value(text for text in goal.texts if text.rstrip("-").strip("0123456789"))
        if any(text[:1] == "!" for text in goal.texts):  # `>! FILE` and `>!FILE`: so zsh writes over what is there
            self.unknown = True
            self.suspect(goal.map(lambda text: text[1:]), scope)
        if self.watch is not None:
            self.watch.writes_to(goal)
        self.touch(goal, "edit", scope)

    def _printed_into(self, word: Node, scope: Scope) -> Value:
        """`< <(command)` reads what the command prints; what is in a file is not known here."""
        parts = word["Parts"]
        if len(parts) == 1 and parts[0]["Type"] == "ProcSubst":
            return self._statements(parts[0].get("Stmts"), scope.copy(), None)
        file = self._one(word, scope)
        return NOTHING if file.text == "/dev/null" else read_file(file, scope)

    def _document(self, node: Node, scope: Scope) -> Value:
        """The text of a here-document. It is only text: what it means is up to the command that reads it."""
        body = node.get("Hdoc")
        if not body:
            return NOTHING
        literal = any(part["Type"] != "Lit" or "\\" in part["Value"] for part in node["Word"]["Parts"])
        if "Cut" in body:
            cut = body["Cut"].decode("utf-8", "replace")
            hidden = not literal and ("$(" in cut or "`" in cut)  # a command could stand there
            self.unknown = self.unknown or hidden
            text = Value((cut,), known=not hidden)
        elif literal:
            text = Value(("".join(part.get("Value", "") for part in body["Parts"]),))
        else:
            text = self._within_quotes(body["Parts"], scope, "$`\\")
        if node["Op"] == "<<-":
            text = text.map(lambda lines: "\n".join(line.lstrip("\t") for line in lines.split("\n")))
        return text

    # Simple commands.

    def _simple(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        words = [field for word in node.get("Args") or () for field in self._fields(word, scope)]
        assigned: list[Node] = node.get("Assigns") or []
        before = dict(scope.names)
        for assign in assigned:
            self._assign(assign, scope)
        if not words:
            return NOTHING
        printed = self.run(words, scope, fed)
        for assign in assigned:  # they were for this command only
            name = assign["Name"]["Value"]
            scope.names.pop(name, None)
            if name in before:
                scope.names[name] = before[name]
        return printed

    def run(self, words: list[Value], scope: Scope, fed: Value | None) -> Value:
        name, *arguments = words
        self.unknown = self.unknown or not name.known
        watch = self.watch
        if watch is not None:
            watch.before(name, arguments, fed, scope, self)
        if not name.texts and arguments:  # `$SUDO tee f`: it may also be nothing, or a wrapper
            return self.run(arguments, scope.copy(), fed)
        printed = UNKNOWN
        for text in name.texts:
            printed = self._run_named(text, arguments, scope, fed)
        printed = printed if len(name.texts) == 1 else UNKNOWN
        return printed if watch is None else watch.printed(name, arguments, fed, printed)

    def _run_named(self, name: str, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
        if name in scope.functions:
            return self._call(scope.functions[name], arguments, scope, fed)
        program = name.rpartition("/")[2]
        program = program.partition("@")[0] or program  # `npx prettier@3`
        self.note(name, arguments, scope)
        if "/" in name and name[:1] != "@" and not name.startswith(SYSTEM_FOLDERS):
            self.start(Value((name,)), scope)
        run = Run(arguments, fed, scope, self)
        program = program if program in WRITERS else program.lower().removesuffix(".exe")
        for goal, action in written_by(program, run):
            self.touch(goal, action, scope)
        if program in PATCHERS:
            patch = PATCHERS[program](run)
            self.apply(patch, _top(scope) if program == "git" and patch and _is_of_git(patch) else scope)
        if program in BUILTINS:
            return BUILTINS[program](run)
        if program in RUNNING:
            from clearway.guard.shellrunners import RUNNERS

            return RUNNERS[program](run)
        if program in SHELLS:
            return self._shell(arguments, scope.copy(), fed)
        if program == "xargs":
            return self._xargs(arguments, scope.copy(), fed)
        if program in WRAPPERS:
            return self._wrapped(program, arguments, scope, fed)
        if program == "tee":
            return fed or UNKNOWN
        if program in LAUNCHERS:
            return self._launch(program, arguments, scope.copy(), fed)
        self.ran_programs = True
        reads = interpreter(program)
        if reads and arguments and arguments[0].text == "-m" and program.startswith("py"):  # by the name of a module
            return self.run(arguments[1:], scope, fed) if len(arguments) > 1 else UNKNOWN
        script = script_of(reads, arguments) if reads else None
        if script is not None:
            self.start(script, scope)
        elif reads:
            read_inline(program, reads, run)
        return UNKNOWN

    def _launch(self, program: str, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
        """`uv run x.py`, `poetry run python x.py`."""
        words = launched(program, arguments)
        if not words:
            self.ran_programs = True
            return UNKNOWN
        if words[0].text and is_script_name(words[0].text):
            self.start(words[0], scope)
        return self.run(words, scope, fed)

    def _call(self, body: Node, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
        if self._calls >= CALLS_MAX:
            self.unknown = True
            return UNKNOWN
        self._calls += 1
        places, scope.places = scope.places, arguments
        printed = self._statement(body, scope, fed)
        scope.places = places
        self._calls -= 1
        return printed

    def _wrapped(self, name: str, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
        wrapper = WRAPPERS[name]
        scope = scope if wrapper.here else scope.copy()
        options, words = split_options(arguments, wrapper.valued)
        for option, value in options:
            if option in wrapper.moves:
                scope.go(value or UNKNOWN)
            elif option in {"-S", "--split-string"} and value:
                words = [Value((word,)) for text in value.texts for word in text.split()] + words
            elif name == "command" and option in {"-v", "-V"}:
                return UNKNOWN
        if name == "env" and words and words[0].text == "-":  # as `-i` is
            del words[0]
        while wrapper.assigns and words and _may_assign(words[0]):
            self.unknown = self.unknown or not words[0].known
            variable, _, text = (words.pop(0).text or "").partition("=")
            scope.names[variable] = Value((text,))
        words = words[wrapper.skipped :]
        if wrapper.skipped and words and (words[0].text or "")[:2] == "--":  # `pipx run --spec black black f`
            words = split_options(words, wrapper.valued)[1]
        if wrapper.skipped and len(words) > 1 and words[0].text in {"-c", "--command"}:  # `flock FILE -c TEXT`
            return self.read_script(words[1], scope, fed)
        return self.run(words, scope, fed) if words else UNKNOWN

    def read_from(self, file: Value, fed: Value | None) -> Value | None:
        """The text in what looks like a file and is a pipe; None if it is a file."""
        text = file.text or ""
        return fed if text in {"/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"} else self.piped.get(text)

    def _xargs(self, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
        options, operands = split_options(arguments, XARGS_VALUED)
        named = next((value for option, value in options if option in {"-a", "--arg-file"} and value), None)
        source = read_file(named, scope) if named is not None else fed or UNKNOWN
        ended = any(option[:2] != "--" and "0" in option or option == "--null" for option, _ in options)
        parts = [text.replace("\n", "\0").split("\0") if ended else text.split() for text in source.texts]
        words = Value((word for part in parts for word in part if word), source.known, source.fetched)
        place = next((value.text for option, value in options if option in {"-I", "-J"} and value), None)
        command = [replaced(each, place, words) for each in operands] if place else [*operands, words]
        together = not place and words.known and not any(option in _XARGS_PIECEWISE for option, _ in options)
        if together and source.text is not None:  # as one command
            command = [*operands, *(Value((word,), True, source.fetched) for word in words.texts)]
        return self.run(command, scope, UNKNOWN) if len(command) > 1 or place else UNKNOWN

    def _shell(self, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
        """`sh -c TEXT`, or a shell that reads its commands from stdin. A script in a file is a program like others."""
        inline, operands = _shell_options(arguments)
        script = operands[0] if inline and operands else None if inline or operands else fed
        if operands and not inline:
            script = self.read_from(operands[0], fed)
        if script is None:
            self.ran_programs = True
            if operands and not inline and all(word.text != "-n" for word in arguments):  # which only checks it
                self.start(operands[0], scope)
            return UNKNOWN
        scope.places = operands[2:] if inline else []
        if inline and len(operands) > 1:
            scope.names["0"] = operands[1]
        if script.text is not None and not scope.functions and not self.watch and cannot_write(script.text):
            if starts_nothing(script.text):
                return UNKNOWN
        return self.read_script(script, scope, fed if inline else None)

    # Compound commands.

    def _binary(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        signs = {"|", "|&"} if node["Op"] in {"|", "|&"} else {"&&", "||"}
        first, rest = unchained(node, signs)
        if "|" in signs:
            return self._pipeline([first, *(right for _, right in rest)], scope, fed)
        return self._chain(first, rest, scope, fed)

    def _chain(self, left: Node, rest: list[tuple[str, Node]], scope: Scope, fed: Value | None) -> Value:
        """`a && b || c`. Behind it, the shell may also be where a failure on the way has left it."""
        before = scope.copy()
        failed: list[Scope] = []
        printed = self._statement(left, scope, fed)
        for sign, right in rest:
            if sign == "&&":
                failed += scope.lost()
                until_here = scope.copy()
                printed = printed.then(self._statement(right, scope, fed))
                if scope.differs(until_here) and not succeeds(left):
                    failed.append(until_here)
            elif leaves([right]):
                self._statement(right, before.copy(), fed)
                scope.lost()
                failed.clear()
            else:
                other = before.copy()
                self._statement(right, other, fed)
                failed += [other] if other.differs(before) else []
            left = right
        scope.failed += failed
        return printed

    def _pipeline(self, stages: list[Node], scope: Scope, fed: Value | None) -> Value:
        printed = NOTHING
        for stage in stages:
            printed = self._statement(stage, scope.copy(), fed)
            fed = printed if self.watch is None else self.watch.piped(printed)
        return printed

    def _block(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        return self._statements(node.get("Stmts"), scope, fed)

    def _subshell(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        return self._statements(node.get("Stmts"), scope.copy(), fed)

    def _timed(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        return self._statement(node["Stmt"], scope, fed) if node.get("Stmt") else NOTHING

    def _coprocess(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        self._statement(node["Stmt"], scope.copy(), UNKNOWN)
        return NOTHING

    def _if(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        self._statements(node.get("Cond"), scope, fed)
        failed = scope.lost()
        otherwise = scope.copy()
        for other in failed:
            otherwise.merge(other)
        self._statements(node.get("Then"), scope, fed)
        other = node.get("Else")
        if other and other.get("Cond"):
            self._if(other, otherwise, fed)
        elif other:
            self._statements(other.get("Then"), otherwise, fed)
        if leaves(node.get("Then")):
            scope.become(otherwise)
        elif not (other and not other.get("Cond") and leaves(other.get("Then"))):
            scope.merge(otherwise)
        return UNKNOWN

    def _case(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        self._one(node["Word"], scope)
        before = scope.copy()
        for item in node.get("Items") or ():
            for pattern in item.get("Patterns") or ():
                self._look_inside(pattern, scope)
            branch = before.copy()
            self._statements(item.get("Stmts"), branch, fed)
            if branch.differs(before) and not leaves(item.get("Stmts")):
                scope.merge(branch)
        return UNKNOWN

    def _while(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        never = scope.copy()
        self._rounds([*(node.get("Cond") or ()), *(node.get("Do") or ())], scope, fed)
        scope.merge(never)
        return UNKNOWN

    def _for(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        loop = node["Loop"]
        never = scope.copy()
        if loop["Type"] == "WordIter":
            items = loop.get("Items")
            words = [field for word in items or () for field in self._fields(word, scope)]
            every = Value() if items else scope.look_up("@")
            for word in words:
                every = every.either(word)
            scope.names[loop["Name"]["Value"]] = every
        else:
            self._look_inside(loop, scope)
            every = UNKNOWN
        self._rounds(node.get("Do") or [], scope, fed)
        if not (every.known and every.texts):
            scope.merge(never)
        return UNKNOWN

    def _rounds(self, body: list[Node], scope: Scope, fed: Value | None) -> None:
        """A round, and another if the first one left something different for it."""
        before = scope.copy()
        self._statements(body, scope, fed)
        if scope.differs(before):
            scope.merge(before)
            self._statements(body, scope, fed)

    def _function(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        scope.functions[node["Name"]["Value"]] = node["Body"]
        return NOTHING

    def _declare(self, node: Node, scope: Scope, fed: Value | None) -> Value:
        for argument in node.get("Args") or ():
            if argument.get("Naked"):
                self._look_inside(argument, scope)
            else:
                self._assign(argument, scope)
        return UNKNOWN

    def _assign(self, node: Node, scope: Scope) -> None:
        name = node["Name"]["Value"]
        if node.get("Index"):
            self._look_inside(node["Index"], scope)
        if node.get("Array"):
            value = Value()
            for element in node["Array"].get("Elems") or ():
                for field in self._fields(element["Value"], scope) if element.get("Value") else ():
                    value = value.either(field)
        else:
            value = self._assigned(node["Value"], scope) if node.get("Value") else NOTHING
        if node.get("Index") or (node.get("Append") and node.get("Array")):
            value = scope.names.get(name, Value()).either(value)
        elif node.get("Append"):
            value = scope.look_up(name).then(value)
        scope.names[name] = value

    # Words.

    def _one(self, word: Node, scope: Scope) -> Value:
        """A word where a single path or text is wanted."""
        whole = self._wholly_quoted(word, scope)
        if whole:
            return whole
        marked = self._marked(word["Parts"], scope)
        found, known = Value(), marked.known
        for text in marked.texts:
            found = found.either(expanded(text, scope))
        return Value(map(plain, found.texts), known and found.known, marked.fetched)

    def _fields(self, word: Node, scope: Scope) -> list[Value]:
        """The arguments that a word becomes. What may become this or that stays one argument that may be any of it."""
        array = scope.look_up(name) if (name := whole_array(word)) else UNKNOWN
        if array.known and len(array.texts) > 1:
            return [Value((text,), True, array.fetched) for text in array.texts]
        whole = self._wholly_quoted(word, scope)
        if whole:
            return [whole]
        marked = self._marked(word["Parts"], scope)
        found = Value()
        for text in marked.texts:
            found = found.either(expanded(text, scope))
        words = [field for text in found.texts for field in fields(text)]
        if not marked.known or not found.known:
            patterns = map(plain, marked.texts) if self.watch is not None else ()
            return [Value(words, False, marked.fetched, patterns)]
        if len(marked.texts) > 1 or marked.fetched:
            return [Value(words, True, marked.fetched)]
        return [Value((each,)) for each in words]

    def _assigned(self, word: Node, scope: Scope) -> Value:
        """The right side of an assignment: neither split nor globbed."""
        marked = self._marked(word["Parts"], scope)
        if any(text.startswith("~") for text in marked.texts):
            return self._one(word, scope)
        return marked.map(plain)

    def _wholly_quoted(self, word: Node, scope: Scope) -> Value | None:
        """A word that is one quoted piece needs no marks; it may be megabytes long."""
        parts = word["Parts"]
        if len(parts) != 1:
            return None
        if parts[0]["Type"] == "SglQuoted" and not parts[0].get("Dollar"):
            return Value((parts[0].get("Value", ""),))
        if parts[0]["Type"] == "DblQuoted":
            return self._within_quotes(parts[0].get("Parts") or [], scope, '$`"\\')
        return None

    def _marked(self, parts: list[Node], scope: Scope) -> Value:
        """All texts a word may become, with marks where it was quoted."""
        return join([self._part(part, scope) for part in parts], "")

    def _part(self, part: Node, scope: Scope) -> Value:
        kind = part["Type"]
        if kind == "Lit":
            return Value((unescaped(part["Value"]),))
        if kind == "SglQuoted":
            text = part.get("Value", "")
            return Value((quoted(ansi(text) if part.get("Dollar") else text),))
        if kind == "DblQuoted":
            return self._within_quotes(part.get("Parts") or [], scope, '$`"\\').map(quoted)
        return self._substitution(part, scope).map(substituted)

    def _within_quotes(self, parts: list[Node], scope: Scope, escapable: str) -> Value:
        values = [
            Value((unescaped_within(part["Value"], escapable),))
            if part["Type"] == "Lit"
            else self._substitution(part, scope)
            for part in parts
        ]
        return join(values, "") if values else NOTHING

    def _substitution(self, part: Node, scope: Scope) -> Value:
        """What a `$...` or a backquoted piece becomes, plain. The commands in it are walked."""
        kind = part["Type"]
        if kind == "ParamExp":
            return self._parameter(part, scope)
        if kind == "CmdSubst":
            read = _only_read(part.get("Stmts") or [])
            if read:
                return self._printed_into(read, scope).map(lambda text: text.rstrip("\n"))
            return self._statements(part.get("Stmts"), scope.copy(), None).map(lambda text: text.rstrip("\n"))
        if kind == "ProcSubst":
            printed = self._statements(part.get("Stmts"), scope.copy(), UNKNOWN)
            file = f"/dev/fd/{_PROCESS_FILE_MAX - len(self.piped)}"
            self.piped[file] = printed
            return Value((file,), True, printed.fetched)
        self._look_inside(part, scope)
        return UNKNOWN

    def _parameter(self, part: Node, scope: Scope) -> Value:
        name = part.get("Param", {}).get("Value", "")
        if part.get("Index"):
            self._look_inside(part["Index"], scope)
        if any(part.get(sign) for sign in _OTHER_EXPANSIONS):
            self._look_inside(part, scope)
            if part.get("Excl") and not part.get("Names"):  # the value of the name that it holds
                return scope.look_up(scope.look_up(name).text or "")
            return rewritten(scope.look_up(name), part)
        operation = part.get("Exp")
        if not operation:
            return scope.look_up(name)
        sign, word = operation["Op"], operation.get("Word")
        if sign in {"%", "%%", "#", "##"}:
            pieces: list[Node] = word["Parts"] if word else []
            pattern = "".join(piece["Value"] if piece["Type"] == "Lit" else "?" for piece in pieces)
            return trimmed(scope.look_up(name), sign, pattern)
        value = defaulted(scope.look_up(name), sign, self._one(word, scope) if word else NOTHING)
        if sign in {"=", ":="}:
            scope.names[name] = value
        return value

    def _look_inside(self, node: Node, scope: Scope) -> None:
        """Walk the commands in a piece that is not read any further: arithmetic, tests, patterns."""
        for inner in every_node(node, _SUBSTITUTIONS):
            if inner.get("Type") in _SUBSTITUTIONS:
                self._statements(inner.get("Stmts"), scope.copy(), UNKNOWN)

    COMMANDS: dict[str, Callable[[Walk, Node, Scope, Value | None], Value]] = {
        "CallExpr": _simple,
        "BinaryCmd": _binary,
        "Block": _block,
        "Subshell": _subshell,
        "IfClause": _if,
        "CaseClause": _case,
        "WhileClause": _while,
        "ForClause": _for,
        "FuncDecl": _function,
        "DeclClause": _declare,
        "TimeClause": _timed,
        "CoprocClause": _coprocess,
    }


def _is_of_git(patch: Value) -> bool:
    return any(text.startswith("diff --git ") or "\ndiff --git " in text for text in patch.texts)


def _top(scope: Scope) -> Scope:
    """Where git takes the names in its own patches from, wherever it is started."""
    from clearway import repository

    found = repository.holding(scope.cwd.text) if scope.cwd.text else None
    if found is None or found.root == scope.cwd.text:
        return scope
    top = scope.copy()
    top.cwd = Value((found.root,))
    return top


def _only_read(nodes: list[Node]) -> Node | None:
    """The file in `$(< FILE)`."""
    if len(nodes) != 1 or nodes[0].get("Cmd"):
        return None
    redirections: list[Node] = nodes[0].get("Redirs") or []
    return redirections[0]["Word"] if len(redirections) == 1 and redirections[0]["Op"] == "<" else None


def _may_assign(word: Value) -> bool:
    """NAME=VALUE, or something unknown in its place."""
    if word.text is None:
        return not word.texts
    name, sign, _ = word.text.partition("=")
    return bool(sign) and name.isidentifier()


def _shell_options(arguments: list[Value]) -> tuple[bool, list[Value]]:
    """Whether the first operand of a shell is a text of commands (`-c`, in any cluster), and its operands."""
    inline = False
    at = 0
    while at < len(arguments):
        text = arguments[at].text
        if not text or text == "-" or text[0] not in "-+":
            break
        at += 1
        if text == "--":
            break
        if text.startswith("--"):
            at += text in {"--rcfile", "--init-file"}
            continue
        inline = inline or (text[0] == "-" and "c" in text)
        at += text[-1] in "oO"
    return inline, arguments[at:]
