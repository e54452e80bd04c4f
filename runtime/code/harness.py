# harness: what stands around a piece of Python that is the body of a function of JSON to JSON.
#
# The user's source lies beside this file as main.py. Its statements become the body of a function with the parameter `input`; the value that
# it returns is the result, None without a return. The tree is moved, not the text, so that lines and texts of several lines stay as they are.
# NaN and the infinities become null in the result.


def call(place, only_check):
    import ast, json, os, sys

    def end(text):
        print("warder: " + text, file=sys.stderr)
        sys.exit(2)

    def read_input():
        name = os.environ.get("WARDER_INPUT")
        if not name:
            return None
        with open(name, "rb") as file:
            text = file.read()
        try:
            return json.loads(text) if text.strip() else None
        except ValueError as error:
            end("the input is no JSON: %s" % error)

    def finite(value):
        if isinstance(value, float):
            return value if value - value == 0 else None
        if isinstance(value, dict):
            return {key: finite(member) for key, member in value.items()}
        if isinstance(value, (list, tuple)):
            return [finite(member) for member in value]
        return value

    def describe(error):
        try:
            return str(error)
        except Exception:
            return "(it has no text)"

    def write_result(value):
        try:
            text = json.dumps(finite(value), ensure_ascii=False)
        except Exception as error:
            end("the value that the function returned is no JSON: %s" % describe(error))
        name = os.environ.get("WARDER_RESULT")
        with open(name, "w", encoding="utf-8", errors="backslashreplace") if name else sys.stdout as file:
            file.write(text + ("" if name else "\n"))

    # As Python itself, without the lines of the harness. The class of an error may hide its traceback.
    def fail(kind, error, trace):
        show = sys.__excepthook__
        while trace and trace.tb_frame.f_code.co_filename == call.__code__.co_filename:
            trace = trace.tb_next
        error = BaseException.with_traceback(error, trace)
        try:
            sys.excepthook(kind, error, trace)
        except SystemExit:
            raise
        except BaseException as later:
            trace_of_later = sys.exc_info()[2].tb_next
            print("Error in sys.excepthook:", file=sys.stderr)
            show(type(later), BaseException.with_traceback(later, trace_of_later), trace_of_later)
            print("\nOriginal exception was:", file=sys.stderr)
            show(kind, error, trace)
        if kind is KeyboardInterrupt:
            sys.excepthook = lambda *words: None
            raise error
        sys.exit(1)

    path = os.path.join(os.path.dirname(place), "main.py")
    tree = ast.parse("def main(input): pass")
    try:
        with open(path, "rb") as file:
            tree.body[0].body = ast.parse(file.read(), path).body or tree.body[0].body
        code = compile(tree, path, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        sys.exit(1)
    if only_check:
        return
    space = {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__}
    sys.modules["__main__"].__dict__.update(space)
    exec(code, space)
    given = read_input()
    try:
        return write_result(space["main"](given))
    except SystemExit:
        raise
    except BaseException:
        failure = sys.exc_info()
    fail(*failure)


call(globals().get("check") or __file__, "check" in globals())
