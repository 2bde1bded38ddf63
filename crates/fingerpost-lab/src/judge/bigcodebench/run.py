"""Do a case's tests pass with an answer?

Reads the case as JSON from standard input and writes two lines to standard output, each after a word
that only the judge knows: that it begins, and a report as JSON. What the tests and the answer print goes nowhere. All that
decides whether a test passes is remembered before the answer runs, and compared afterwards.
"""


def main():
    import ast
    import builtins
    import json
    import linecache
    import os
    import re
    import sys
    import types
    import unittest
    import unittest.mock
    from importlib.util import find_spec

    case = json.load(sys.stdin)
    own_process, get_process = os.getpid(), os.getpid
    encode, leave, send = json.dumps, os._exit, os.write
    report_to = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)

    longest, most = 500, 100
    word = case.pop("word")
    answer_file, tests_file = "answer.py", "tests.py"
    report = {"tests": 0, "passed": 0, "tampered": None, "failures": []}

    def say(text):
        # A process that the answer forked has no say.
        if get_process() == own_process:
            send(report_to, (word + " " + text + "\n").encode())

    def finish():
        vars(builtins).update(decisive)
        say(encode(report))
        leave(0)

    # What decides whether a test passes.

    often_replaced = {"open", "print", "input", "exit", "quit", "__import__"}
    guarded = []
    for name in sorted(sys.modules):
        if name != "unittest" and not name.startswith("unittest."):
            continue
        module = sys.modules[name]
        held = {key: value for key, value in vars(module).items() if callable(value)}
        guarded.append((module, held, None))
        for value in held.values():
            if isinstance(value, type) and value.__module__ == name:
                guarded.append((value, dict(vars(value)), set(vars(value))))
    decisive = {key: value for key, value in vars(builtins).items() if key not in often_replaced}
    guarded.append((builtins, decisive, None))
    # Caches that the library itself fills in.
    lazy = {"_", "__abstractmethods__", "_abc_impl", "__annotations__"}

    def tampered(holders=tuple(guarded), vars=vars, set=set):
        for holder, held, keys in holders:
            now = vars(holder)
            for key, value in held.items():
                if key not in lazy and now.get(key, holders) is not value:
                    return holder.__name__ + "." + key
            for key in set(now) - keys - lazy if keys is not None else ():
                return holder.__name__ + "." + key
        return None

    # What the machine lacks, as against what the answer lacks.

    contacted = []

    def listen(event, arguments):
        if event == "socket.connect":
            host = arguments[1][0] if isinstance(arguments[1], tuple) and arguments[1] else None
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            host = arguments[0]
        else:
            return
        if isinstance(host, bytes):
            host = host.decode(errors="replace")
        if not isinstance(host, str) or re.match(r"$|localhost|127\.|::1|0\.0\.0\.0|box$", host):
            return
        # Asks even for data that is there, and goes on without: what lacks is told by another error.
        frame = sys._getframe()
        while frame is not None:
            if frame.f_globals.get("__name__") == "nltk.downloader":
                return
            frame = frame.f_back
        contacted.append(host)

    sys.addaudithook(listen)

    def imports(text):
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return set()
        plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        named = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
        return {name.split(".")[0] for name in plain + named}

    imported = imports(case["answer"]) | imports(case["test"])

    def sources():
        """The text of each test, with what its class does before it."""
        texts = {}
        for node in ast.walk(ast.parse(case["test"])):
            if not isinstance(node, ast.ClassDef):
                continue
            functions = [each for each in node.body if hasattr(each, "decorator_list")]
            text = {each.name: ast.unparse(each) for each in functions}
            before = "".join(ast.unparse(each) for each in node.decorator_list)
            before += text.get("setUp", "") + text.get("setUpClass", "")
            texts.update({(node.name, name): before + body for name, body in text.items()})
        return texts

    def chain(error):
        found = []
        while error is not None and len(found) < 20:
            found.append(error)
            error = error.__cause__ or error.__context__
        return found

    def frames(error):
        found, trace = [], error.__traceback__
        while trace is not None:
            found.append((trace.tb_frame.f_code.co_filename, trace.tb_frame.f_code.co_name))
            trace = trace.tb_next
        return found

    def is_installed(name):
        try:
            return find_spec(name) is not None
        except (ImportError, ValueError, AttributeError):
            return False

    def missing(error, text, hosts):
        """What the machine lacks, if that is why a test (or, without its text, a load) failed."""
        fixtures = {"<module>", "setUp", "setUpClass", "asyncSetUp", "setUpModule"}
        for each in chain(error):
            kind, said = type(each).__name__, str(each)
            if isinstance(each, ModuleNotFoundError) and each.name:
                name = each.name.split(".")[0]
                is_import = text is None or {name, name.lstrip("_")} & imported
                if is_import and not is_installed(name):
                    return "the library " + name
            if isinstance(each, ImportError):
                if "Missing optional dependency" in said:
                    return "a library: " + said[:longest]
                if not any(file == answer_file for file, _ in frames(each)) and text is None:
                    return "a library: " + said[:longest]
            if kind == "LookupError" and "nltk" in said.lower():
                named = re.search(r"Resource\s+(\w+)", re.sub(r"\x1b\[\d+m", "", said))
                return "data of nltk" + (": " + named[1] if named else "")
            if kind == "MissingCorpusError":
                return "data of textblob"
            if kind == "TesseractNotFoundError":
                return "the program tesseract"
            if kind == "TclError" and "display" in said:
                return "a display"
            if isinstance(each, FileNotFoundError):
                passed = frames(each)
                if not any(file == answer_file for file, _ in passed) and any(
                    file == tests_file and function in fixtures for file, function in passed
                ):
                    return "the file " + repr(each.filename)[:longest]
        # Tests that replace the network do not need it; an answer that passes them by is wrong.
        if hosts and not re.search("patch|mock", text or "", re.IGNORECASE):
            return "the network: " + str(hosts[0])[:longest]
        return None

    def describe(error):
        try:
            said = " ".join(str(error)[: 4 * longest].split())
        except Exception:
            said = "(says nothing)"
        return (type(error).__name__ + ": " + said)[:longest]

    def fail(test, error, message=None, text=None, hosts=()):
        try:
            lacks = missing(error, text, hosts) if error is not None else None
        except Exception:
            lacks = None
        if len(report["failures"]) < most:
            failure = {"test": test, "message": message or describe(error), "missing": lacks}
            report["failures"].append(failure)

    say("begins")

    # The answer, then the tests, in one module, as if they were one file.

    module = types.ModuleType("__test__")
    module.__file__ = "__test__.py"
    sys.modules["__test__"] = module
    for file, key in ((answer_file, "answer"), (tests_file, "test")):
        text = case[key]
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        try:
            exec(compile(text, file, "exec", dont_inherit=True), vars(module))
        except BaseException as error:
            fail("the answer" if key == "answer" else "the tests", error, hosts=contacted)
            report["tampered"] = tampered()
            finish()
        if key == "answer":
            report["tampered"] = tampered()
            if report["tampered"]:
                finish()

    texts = sources()
    classes = {name for name, _ in texts}
    at_load = list(contacted)
    may_skip = re.search(r"\bskip(Test|If|Unless)?\b *\(|SkipTest", case["test"])

    class Result(unittest.TestResult):
        """Notes of every test whether it passed; nothing is taken from what it adds up itself."""

        def startTest(self, test):
            self.seen = len(contacted)
            self.failed = False

        def stopTest(self, test):
            report["tampered"] = report["tampered"] or tampered()

        def addSuccess(self, test):
            if not self.failed:
                report["passed"] += 1

        def note(self, test, error, message=None):
            self.failed = True
            name = getattr(test, "_testMethodName", None) or str(test)
            text = texts.get((type(test).__name__, name), "")
            hosts = at_load + contacted[getattr(self, "seen", 0) :]
            fail(name, error, message, text, hosts)

        def addError(self, test, error):
            self.note(test, error[1])

        def addFailure(self, test, error):
            self.note(test, error[1])

        def addSubTest(self, test, subtest, error):
            if error is not None:
                self.note(test, error[1])

        def addSkip(self, test, reason):
            if may_skip:
                report["passed"] += 1
            else:
                self.note(test, None, "skipped, though no test says so: " + str(reason)[:longest])

        def addExpectedFailure(self, test, error):
            report["passed"] += 1

        def addUnexpectedSuccess(self, test):
            self.note(test, None, "passed, though it should not")

    result = Result()
    try:
        loader = unittest.TestLoader()
        suite = unittest.TestSuite()
        for name, value in list(vars(module).items()):
            if name in classes and isinstance(value, type) and issubclass(value, unittest.TestCase):
                suite.addTest(loader.loadTestsFromTestCase(value))
        report["tests"] = suite.countTestCases()
        suite.run(result)
    except BaseException as error:
        fail("the tests", error, hosts=contacted)
    finish()


main()
