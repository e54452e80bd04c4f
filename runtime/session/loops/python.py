# The loop of a Python context. The keeper of the session sends this text as the first message of descriptor 4, and then pieces of code;
# frames.h says how. The loop keeps its own references to what it calls, so that code which replaces os.write or builtins.repr breaks its
# own context at most. Large modules are imported only when they are needed, so that an idle context stays small.
def loop():
    import builtins, os, sys
    import _ast, _signal
    from _thread import RLock, get_ident
    from time import sleep
    from _json import encode_basestring_ascii

    CHANNEL = 4
    MAGIC, BODY, TEXT_MOST = 0x58544357, 65536 - 16, 1 << 20
    PIECE, INPUT, READY, BEGUN, SHOWN, ASKS, DONE, TAKEN, FORK, FORKED = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    MORE, AT_END, KEEP_SEED = 1, 2, 4
    MIME_MOST = 128
    read, write, getpid, leave = os.read, os.write, os.getpid, os._exit
    fork, waitpid, setsid, dup2, close, listdir = os.fork, os.waitpid, os.setsid, os.dup2, os.close, os.listdir
    compile_, exec_, eval_, repr_, len_, str_, print_ = compile, exec, eval, repr, len, str, print
    type_, getattr_, callable_, isinstance_, range_ = type, getattr, callable, isinstance, range
    signal, getsignal, SIGINT, SIG_IGN = _signal.signal, _signal.getsignal, _signal.SIGINT, _signal.SIG_IGN
    SIG_DFL, kill = _signal.SIG_DFL, os.kill
    traceback_of = BaseException.__dict__["__traceback__"].__get__  # a class may hide it
    modules, stdout, stderr = sys.modules, sys.stdout, sys.stderr
    pack, unpack = int.to_bytes, int.from_bytes
    pid, main_thread = getpid(), get_ident()
    sources = {}  # of the pieces, for tracebacks
    state = {"count": 0, "piece": 0, "runs": False, "forks": False, "handler": _signal.default_int_handler}
    arrived, reading = [], RLock()  # messages that have come and nobody has taken; the right to read another one

    # ---- frames ----

    def send(kind, text):
        body = text.encode("utf-8", "backslashreplace")
        at = 0
        while True:
            part = body[at:at + BODY]
            at += BODY
            flags = MORE if at < len_(body) else 0
            number = 0 if kind in (READY, FORKED) else state["piece"]
            head = b"".join(pack(n, 4, "little") for n in (MAGIC, kind, number, flags))
            try:
                write(CHANNEL, head + part)
            except OSError:
                leave(0)  # nobody is there who would take it
            if not flags:
                return

    # (kind, piece, flags, body) of a whole text. Ends this process if the keeper is gone.
    def receive():
        parts = []
        while True:
            message = read(CHANNEL, BODY + 16)
            if len_(message) < 16:
                leave(0)
            kind, number, flags = (unpack(message[i:i + 4], "little") for i in (4, 8, 12))
            parts.append(message[16:])
            if not flags & MORE:
                return kind, number, flags, b"".join(parts)

    # The next message that is wanted. Threads of a piece read the channel, too, and may read what is for another thread: then they leave it
    # here. None: the piece has ended, and the caller is a thread that it has left behind.
    def take(wanted):
        main = get_ident() == main_thread
        while True:
            if not main and not state["runs"]:
                return None
            with reading:
                for at in range_(len_(arrived)):
                    if wanted(arrived[at]):
                        return arrived.pop(at)
                if main or not arrived:
                    arrived.append(receive())
                    continue
            sleep(0.001)  # until the main thread has taken its message

    # ---- JSON, without the module ----

    # Warder's texts have no NUL.
    def quote(text):
        return encode_basestring_ascii(text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00"))

    def cut(text):
        return text if len_(text) <= TEXT_MOST else text[:TEXT_MOST] + "..."

    def write_object(members):
        return "{" + ",".join(quote(key) + ":" + value for key, value in members) + "}"

    # ---- what a value looks like ----

    RICH = (("_repr_html_", "text/html"), ("_repr_markdown_", "text/markdown"), ("_repr_latex_", "text/latex"),
            ("_repr_svg_", "image/svg+xml"), ("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"),
            ("_repr_json_", "application/json"), ("_repr_javascript_", "application/javascript"))

    def encode_value(mime, value):
        if isinstance_(value, (bytes, bytearray)):
            from binascii import b2a_base64
            return quote(b2a_base64(value, newline=False).decode())
        if mime == "application/json":
            import json
            return quote(json.dumps(value))
        return quote(cut(str_(value)))

    def bundle(value):
        rich = {}
        whole = getattr_(type_(value), "_repr_mimebundle_", None)
        if callable_(whole):
            try:
                found = whole(value)
                found = found[0] if isinstance_(found, tuple) else found
                rich.update((mime, encode_value(mime, data)) for mime, data in (found or {}).items()
                            if isinstance_(mime, str_) and "/" in mime and len_(mime) <= MIME_MOST)
            except Exception:
                pass
        for name, mime in RICH:
            method = getattr_(type_(value), name, None)
            if mime in rich or not callable_(method):
                continue
            try:
                data = method(value)
                data = data[0] if isinstance_(data, tuple) else data
                if data is not None:
                    rich[mime] = encode_value(mime, data)
            except Exception:
                pass  # it has none that way
        if "text/plain" not in rich:
            rich["text/plain"] = quote(cut(repr_(value)))
        return write_object(sorted(rich.items()))

    # The keeper reads output and frames from different descriptors, so later output must wait until the keeper has taken the value.
    def show(text):
        flush()
        send(SHOWN, text)
        take(lambda message: message[0] == TAKEN and message[1] == state["piece"])

    def display(*values):
        for value in values:
            if getpid() == pid:
                show(bundle(value))
            else:  # the channel is its parent's
                print_(repr_(value))

    # Figures that nobody has closed belong to the piece that drew them.
    def show_figures(*ignored, **also):
        pyplot = modules.get("matplotlib.pyplot")
        if pyplot is None or getpid() != pid:
            return
        from io import BytesIO
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if figure.get_axes() or figure.texts:
                file = BytesIO()
                figure.savefig(file, format="png", bbox_inches="tight")
                show(write_object((("image/png", encode_value("image/png", file.getvalue())),
                                   ("text/plain", quote(repr_(figure))))))
        pyplot.close("all")

    # ---- input and output ----

    def flush():
        for stream in (sys.stdout, sys.stderr, stdout, stderr):
            try:
                stream.flush()
            except Exception:
                pass

    def ask(prompt=""):
        flush()
        if getpid() != pid:
            raise EOFError("there is no input for a process that the piece has started")
        number = state["piece"]
        if not state["runs"]:
            raise EOFError("there is no input for a thread whose piece has ended")
        send(ASKS, str_(prompt))
        answer = take(lambda message: message[0] == INPUT and message[1] == number)
        if answer is None:
            raise EOFError("there is no input for a thread whose piece has ended")
        if answer[2] & AT_END:
            raise EOFError("there is no more input")
        return answer[3].decode("utf-8", "replace")

    # ---- errors ----

    # Without the loop's own part of the traceback. linecache, which traceback uses, finds the pieces by their names.
    def format_error(error):
        import linecache, traceback
        for name, source in sources.items():
            linecache.cache[name] = (len_(source), None, source.splitlines(True), name)
        tb = traceback_of(error)
        while tb is not None and tb.tb_frame.f_code.co_filename == "<warder>":
            tb = tb.tb_next
        return "".join(traceback.format_exception(type_(error), error, tb))

    def describe_error(error):
        try:
            lines = format_error(error)
        except BaseException as second:
            lines = "the traceback cannot be written: " + type_(second).__name__ + "\n"
        try:
            value = str_(error)
        except BaseException:
            value = "(its text cannot be had)"
        return write_object((("name", quote(type_(error).__name__)), ("value", quote(cut(value))),
                             ("traceback", quote(cut(lines)))))

    def outcome(status, value=None, error=None):
        members = [("status", quote(status)), ("executionCount", str_(state["count"]))]
        if value is not None:
            members.append(("value", value))
        if error is not None:
            members.append(("error", error))
        return write_object(members)

    # ---- a piece ----

    def run(body):
        state["count"] += 1
        name = "<piece %d>" % state["count"]
        source = body.decode()
        source = source[1:] if source[:1] == "\ufeff" else source
        sources[name] = source
        if len_(sources) > 1000:
            del sources[next(iter(sources))]
        tree = compile_(source, name, "exec", 0x400, dont_inherit=True)  # 0x400: only the tree
        last = None
        if tree.body and isinstance_(tree.body[-1], _ast.Expr):
            last = _ast.Expression(tree.body.pop().value)
        exec_(compile_(tree, name, "exec", dont_inherit=True), space)
        value = None
        if last is not None:
            value = eval_(compile_(last, name, "eval", dont_inherit=True), space)
        show_figures()
        if value is None:
            return outcome("ok")
        space["_"] = value
        return outcome("ok", value=bundle(value))

    # Between pieces an interrupt is ignored. One that came earlier raises here, once at most.
    def ignore_interrupts():
        while True:
            try:
                handler = getsignal(SIGINT)
                if handler != SIG_IGN:
                    state["handler"] = handler
                signal(SIGINT, SIG_IGN)
                return
            except KeyboardInterrupt:
                pass

    def run_guarded(body):
        try:
            try:
                state["runs"] = True
                signal(SIGINT, state["handler"])
                send(BEGUN, "")
                return run(body)
            finally:
                ignore_interrupts()
                state["runs"] = False
        except BaseException as error:
            ignore_interrupts()
            state["runs"] = False
            if getpid() != pid:
                leave_child(error)
            return outcome("error", error=describe_error(error))

    # As Python itself would end it.
    def leave_child(error):
        status = 1
        if isinstance_(error, SystemExit) and (error.code is None or isinstance_(error.code, int)):
            status = error.code or 0
        else:
            try:
                if isinstance_(error, SystemExit):
                    print_(error.code, file=stderr)
                else:
                    print_(format_error(error), end="", file=stderr)
            except BaseException:
                pass
        flush()
        if type_(error) is KeyboardInterrupt:
            status = 130
            signal(SIGINT, SIG_DFL)
            kill(getpid(), SIGINT)
        leave(status & 255)

    # A process that the piece has forked must not answer in its place, nor take the next one.
    def forget_channel():
        if state["forks"]:
            return
        try:
            close(CHANNEL)
        except OSError:
            pass

    # ---- a branch ----

    # The channel, standard output and standard error of the branch, from the message behind FORK. Without _socket, they are closed.
    def take_descriptors():
        try:
            from _socket import socket, CMSG_SPACE, MSG_CMSG_CLOEXEC
        except ImportError:
            read(CHANNEL, 16)
            raise
        channel = socket(fileno=CHANNEL)
        try:
            rights = channel.recvmsg(16, CMSG_SPACE(12), MSG_CMSG_CLOEXEC)[1][0][2]
        finally:
            channel.detach()
        return [unpack(rights[i:i + 4], "little") for i in range_(0, 12, 4)]

    # The generators that a program has without making one: in random and in numpy.
    def generators():
        found = []
        if "random" in modules:
            random = modules["random"]
            found.append((random.getstate, random.setstate, random.seed))
        if "numpy.random" in modules:
            random = modules["numpy.random"]
            found.append((random.get_state, random.set_state, random.seed))
        return found

    def begin_branch(fds, seeds):
        nonlocal pid
        pid = getpid()
        setsid()
        for old, new in zip(fds, (CHANNEL, 1, 2)):
            dup2(old, new, inheritable=new != CHANNEL)
            close(old)
        for seed in seeds:
            seed()
        send(READY, "{}")

    # The process in the middle ends at once. So init becomes the parent of the branch, and no piece sees a child that it has not started.
    # Returns in both: whether this is the branch.
    def fork_twice(fds, seeds):
        middle = fork()
        if middle == 0:
            try:
                if fork() != 0:
                    leave(0)
                begin_branch(fds, seeds)
                return True
            except BaseException:
                leave(1)
        if waitpid(middle, 0)[1] != 0:
            raise OSError("the second of the two forks failed")
        return False

    def branch(keeps_seed):
        fds, reason, is_branch = [], "", False
        try:
            fds = take_descriptors()
            flush()
            if len_(listdir("/proc/self/task")) > 1:
                raise RuntimeError("The context has threads. A fork would copy only one of them.")
            found = generators()
            states = [(set_state, get_state()) for get_state, set_state, seed in found] if keeps_seed else []
            seeds = [lambda set_state=set_state, kept=kept: set_state(kept) for set_state, kept in states]
            state["forks"] = True
            is_branch = fork_twice(fds, seeds if keeps_seed else [seed for get_state, set_state, seed in found])
        except BaseException as error:
            reason = str_(error) or type_(error).__name__
        state["forks"] = False
        if not is_branch:
            send(FORKED, reason[:200])
            for fd in fds:
                close(fd)

    ignore_interrupts()
    state["handler"] = _signal.default_int_handler
    os.set_inheritable(CHANNEL, False)
    os.register_at_fork(after_in_child=forget_channel)
    os.environ.setdefault("MPLBACKEND", "Agg")
    for stream in (stdout, stderr):
        stream.reconfigure(line_buffering=True, encoding="utf-8", errors="backslashreplace")
    sys.argv = [""]
    builtins.input = ask
    builtins.display = display
    space = modules["__main__"].__dict__
    for name in [name for name in space if not name.startswith("__")]:
        del space[name]
    send(READY, write_object((("interpreter", quote("Python " + sys.version.split()[0])),)))
    while True:
        kind, number, flags, body = take(lambda message: message[0] in (PIECE, FORK))
        arrived.clear()  # of earlier pieces
        if kind == FORK:
            branch(flags & KEEP_SEED)
            continue
        state["piece"] = number
        said = run_guarded(body)
        flush()
        if getpid() != pid:
            leave(0)
        send(DONE, said)


loop()
