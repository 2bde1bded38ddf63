//! Is code judged by its tests and by nothing else, and is only judged what can run here?
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use fingerpost_lab::judge::Verdict;
use fingerpost_lab::judge::bigcodebench::{Bench, JudgeError, judge};
use fingerpost_lab::sandbox::Sandbox;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A bench with nothing but the standard library, and something like nltk; `None` after saying that the test is skipped.
fn bench() -> Option<&'static Bench> {
    static MADE: OnceLock<Option<(Bench, TempDir)>> = OnceLock::new();
    let made = MADE.get_or_init(|| match make() {
        Ok(made) => Some(made),
        Err(why) => {
            skip(&format!("all tests of the judge of code: {why}"));
            None
        }
    });
    made.as_ref().map(|(bench, _)| bench)
}

/// Written past the test runner's capture: a skipped test must not look like a passed one.
fn skip(what: &str) {
    let _ = std::io::stderr().write_all(format!("SKIPPED: {what}\n").as_bytes());
}

fn make() -> Result<(Bench, TempDir), String> {
    let sandbox = Sandbox::find().map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let made = Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(folder.path().join("env"))
        .output()
        .map_err(|error| format!("python3: {error}"))?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned());
    }
    let libraries = std::fs::read_dir(folder.path().join("env/lib")).unwrap().flatten();
    for library in libraries.map(|library| library.path().join("site-packages/nltk")) {
        std::fs::create_dir(&library).unwrap();
        std::fs::write(library.join("__init__.py"), LIKE_NLTK).unwrap();
        std::fs::write(library.join("downloader.py"), LIKE_ITS_DOWNLOADER).unwrap();
    }
    let mut bench = Bench::new(sandbox, &folder.path().join("env")).unwrap();
    bench.limits.wall = Duration::from_secs(30);
    Ok((bench, folder))
}

const LIKE_NLTK: &str = r"
from .downloader import download
def words():
    raise LookupError('\n***\n  Resource \x1b[93mstopwords\x1b[0m not found.\n  >>> import nltk\n')
";

const LIKE_ITS_DOWNLOADER: &str = r"
import urllib.request
def download(name):
    try:
        urllib.request.urlopen('http://example.com/index.xml')
    except OSError:
        return False
";

/// A case of ours: the lengths of the words of a text.
fn lengths() -> Value {
    json!({
        "entry_point": "task_func",
        "test": r#"
import unittest
class TestCases(unittest.TestCase):
    def test_counts(self):
        self.assertEqual(task_func("a bb bb ccc"), {1: 1, 2: 2, 3: 1})
    def test_empty(self):
        self.assertEqual(task_func(""), {})
    def test_type(self):
        with self.assertRaises(TypeError):
            task_func(None)
"#,
    })
}

const RIGHT: &str = r#"
from collections import Counter
def task_func(text):
    if not isinstance(text, str):
        raise TypeError("no text")
    return dict(Counter(map(len, text.split())))
"#;

/// A case of ours that fetches a page; its second test replaces the network.
fn fetching() -> Value {
    json!({
        "entry_point": "task_func",
        "test": r#"
import unittest
from unittest.mock import patch
class TestCases(unittest.TestCase):
    def test_page(self):
        self.assertIn("Example", task_func("http://example.com/"))
    @patch("urllib.request.urlopen")
    def test_replaced(self, urlopen):
        urlopen.return_value.read.return_value = b"page"
        self.assertEqual(task_func("http://example.com/"), "page")
"#,
    })
}

fn check(case: &Value, answer: &str, expected: &str) {
    let Some(bench) = bench() else { return };
    let verdict = match judge(case, answer, bench).unwrap() {
        Verdict::Right => "right".to_string(),
        Verdict::Wrong { why } => format!("wrong: {why}"),
        Verdict::NotRunnable { why } => format!("not runnable: {why}"),
    };
    assert_eq!(verdict, expected, "{answer}");
}

/// The right code, after something else.
fn after(prelude: &str) -> String {
    format!("{prelude}\n{RIGHT}")
}

#[test]
fn right_code_is_right_in_whatever_it_is_wrapped() {
    check(&lengths(), RIGHT, "right");
    let spoken =
        format!("Sure.\n```python\ndef task_func(text): ...\n```\nNow:\n```python\n{RIGHT}```\n");
    check(&lengths(), &spoken, "right");
    check(&lengths(), &after("import sys\nfor _ in range(60000): print('x' * 100)"), "right");
    let with_tests = format!(
        "{RIGHT}\nimport unittest\nclass Mine(unittest.TestCase):\n    def test(self): self.fail()\nif __name__ == '__main__':\n    unittest.main()\n"
    );
    check(&lengths(), &with_tests, "right");
}

#[test]
fn wrong_code_is_wrong_and_the_first_failing_test_says_why() {
    check(
        &lengths(),
        "def task_func(text):\n    return {}",
        "wrong: test_counts: AssertionError: {} != {1: 1, 2: 2, 3: 1} - {} + {1: 1, 2: 2, 3: 1}",
    );
    check(
        &lengths(),
        "def task_func(text):\n    return dict(sorted(((1, 1), (2, 2), (3, 1)))) if text else {}",
        "wrong: test_type: AssertionError: TypeError not raised",
    );
    check(
        &lengths(),
        "def task_func(text) return",
        "wrong: the answer: SyntaxError: expected ':' (answer.py, line 1)",
    );
    check(
        &lengths(),
        "I cannot help with that.",
        "wrong: the answer: SyntaxError: invalid syntax (answer.py, line 1)",
    );
    check(&lengths(), "x = 1", "wrong: test_counts: NameError: name 'task_func' is not defined");
    check(
        &lengths(),
        &after("import string.missing"),
        "wrong: the answer: ModuleNotFoundError: No module named 'string.missing'; 'string' is not a package",
    );
}

#[test]
fn code_that_ends_the_run_does_not_pass() {
    let early = "wrong: the run ended with exit code 0, before its tests were through";
    check(&lengths(), "import os\ndef task_func(text):\n    os._exit(0)", early);
    check(&lengths(), "import os\nos._exit(0)", early);
    check(
        &lengths(),
        "import sys\ndef task_func(text):\n    sys.exit(0)",
        "wrong: test_counts: SystemExit: 0",
    );
    check(&lengths(), "import sys\nsys.exit(0)", "wrong: the answer: SystemExit: 0");
    check(
        &lengths(),
        "import os\ndef task_func(text):\n    os.kill(os.getpid(), 9)",
        "wrong: the run ended by signal 9, before its tests were through",
    );
    let fork = "import os\ndef task_func(text):\n    if os.fork() == 0: return {1: 1, 2: 2, 3: 1}\n    os.wait()";
    check(&lengths(), fork, "wrong: test_counts: AssertionError: None != {1: 1, 2: 2, 3: 1}");
    let skip = "import unittest\ndef task_func(text):\n    raise unittest.SkipTest('no')";
    check(&lengths(), skip, "wrong: test_counts: skipped, though no test says so: no");
}

#[test]
fn code_that_bends_the_tests_does_not_pass() {
    let answers = [
        ("unittest.TestCase.assertEqual = lambda *a: None", "TestCase.assertEqual"),
        ("unittest.TestCase.run = lambda self, r: r.addSuccess(self)", "TestCase.run"),
        ("unittest.TestCase.__getattribute__ = lambda s, n: print", "TestCase.__getattribute__"),
        ("unittest.TestResult.addFailure = print", "TestResult.addFailure"),
        ("unittest.TestCase = object", "unittest.TestCase"),
        ("import builtins; builtins.isinstance = lambda *a: True", "builtins.isinstance"),
    ];
    for (bend, what) in answers {
        let at_once = format!("import unittest\n{bend}\ndef task_func(text): ...");
        check(&lengths(), &at_once, &format!("wrong: the code replaces {what}"));
        let later = format!("import unittest\ndef task_func(text):\n    {bend}");
        let Some(bench) = bench() else { return };
        let verdict = judge(&lengths(), &later, bench).unwrap();
        assert!(matches!(verdict, Verdict::Wrong { .. }), "{later}: {verdict:?}");
    }
    let forged = r#"
import json, os
report = json.dumps({"tests": 3, "passed": 3, "tampered": None, "failures": []})
for fd in range(3, 20):
    try: os.write(fd, ("\n" + "0" * 32 + " " + report + "\n" + report + "\n").encode())
    except OSError: pass
os._exit(0)
"#;
    check(
        &lengths(),
        forged,
        "wrong: the run ended with exit code 0, before its tests were through",
    );
}

#[test]
fn code_without_end_is_wrong() {
    let Some(mut bench) = bench().cloned() else { return };
    bench.limits.wall = Duration::from_secs(2);
    let verdict = judge(&lengths(), "def task_func(text):\n    while True: pass", &bench).unwrap();
    let why = "the run ended after 2 seconds, before its tests were through".to_string();
    assert_eq!(verdict, Verdict::Wrong { why });
}

#[test]
fn what_this_machine_lacks_is_no_fault_of_the_answer() {
    let lacks = "not runnable: this machine lacks the library no_such_library";
    check(&lengths(), &after("import no_such_library.part as part"), lacks);
    let inside =
        "def task_func(text):\n    from no_such_library import count\n    return count(text)";
    check(&lengths(), inside, lacks);
    let mut case = lengths();
    let test = format!("import no_such_library\n{}", case["test"].as_str().unwrap());
    case["test"] = test.into();
    check(&case, RIGHT, lacks);

    let mut case = lengths();
    let set_up = "class TestCases(unittest.TestCase):\n    def setUp(self):\n        self.words = open('words.txt').read()\n";
    let test =
        case["test"].as_str().unwrap().replace("class TestCases(unittest.TestCase):\n", set_up);
    case["test"] = test.into();
    check(&case, RIGHT, "not runnable: this machine lacks the file 'words.txt'");
    // A file that the answer should have found or made is its own business.
    let wrong = "def task_func(text):\n    return open('words.txt').read()";
    check(
        &lengths(),
        wrong,
        "wrong: test_counts: FileNotFoundError: [Errno 2] No such file or directory: 'words.txt'",
    );
}

#[test]
fn data_that_cannot_be_fetched_is_missed_only_by_those_who_use_it() {
    let fetch = "import nltk\nnltk.download('stopwords')";
    check(&lengths(), &after(fetch), "right");
    check(
        &lengths(),
        &format!("{fetch}\ndef task_func(text):\n    return len(nltk.words())"),
        "not runnable: this machine lacks data of nltk: stopwords",
    );
    let Some(bench) = bench() else { return };
    let wrong = format!("{fetch}\ndef task_func(text):\n    return 0");
    let verdict = judge(&lengths(), &wrong, bench).unwrap();
    assert!(matches!(&verdict, Verdict::Wrong { why } if why.starts_with("test_counts")));
}

#[test]
fn a_page_that_cannot_be_fetched_is_no_fault_of_the_answer() {
    let fetch = "from urllib.request import urlopen\nimport urllib.request\ndef task_func(url):\n    return urllib.request.urlopen(url).read().decode()";
    let lacks = "not runnable: this machine lacks the network: example.com";
    check(&fetching(), fetch, lacks);
    let silent = "import urllib.request\ndef task_func(url):\n    try:\n        return urllib.request.urlopen(url).read().decode()\n    except OSError:\n        return ''";
    check(&fetching(), silent, lacks);
    // The second test needs no network, and fails without one.
    let wrong =
        "import urllib.request\ndef task_func(url):\n    return urllib.request.urlopen(url).read()";
    check(&fetching(), wrong, "wrong: test_replaced: AssertionError: b'page' != 'page'");
    let past = "import http.client\ndef task_func(url):\n    c = http.client.HTTPConnection('example.com')\n    c.request('GET', '/')\n    return c.getresponse().read().decode()";
    let Some(bench) = bench() else { return };
    let verdict = judge(&fetching(), past, bench).unwrap();
    assert!(matches!(&verdict, Verdict::Wrong { why } if why.starts_with("test_replaced")));
}

#[test]
fn a_case_without_tests_or_fields_is_none() {
    let Some(bench) = bench() else { return };
    let case = json!({ "entry_point": "task_func", "test": "import unittest" });
    check(&case, RIGHT, "not runnable: the case has no tests");
    let error = judge(&json!({ "entry_point": "task_func" }), RIGHT, bench).unwrap_err();
    assert!(matches!(error, JudgeError::Case { field: "test" }));
    let sandbox = Sandbox::find().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    std::fs::write(folder.path().join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    std::os::unix::fs::symlink("/bin/false", folder.path().join("bin/python")).unwrap();
    let broken = Bench::new(sandbox.clone(), folder.path()).unwrap();
    let error = judge(&lengths(), RIGHT, &broken).unwrap_err();
    assert!(matches!(error, JudgeError::Runner { .. }));
    let error = Bench::new(sandbox, "/no/such/environment".as_ref()).unwrap_err();
    assert!(error.to_string().contains("python3 -m venv"));
}

#[test]
fn nine_of_ten_cases_can_run_here() {
    let Some(environment) = std::env::var_os("FINGERPOST_BIGCODEBENCH") else {
        return skip("cases that can run: FINGERPOST_BIGCODEBENCH names no Python environment");
    };
    let data = std::env::var_os("FINGERPOST_DATA").map(PathBuf::from);
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let file = data.unwrap_or(default).join("sra/answers.jsonl.zst");
    let Ok(packed) = std::fs::File::open(&file) else {
        return skip(&format!("cases that can run: there is no {}", file.display()));
    };
    let bench = Bench::new(Sandbox::find().unwrap(), environment.as_ref()).unwrap();
    let lines = BufReader::new(zstd::Decoder::new(packed).unwrap()).lines();
    let cases = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let cases = cases.filter(|case| case["eval_data"]["entry_point"].is_string()).step_by(19);
    let (mut tried, mut lacking) = (0, Vec::new());
    for case in cases {
        let case = &case["eval_data"];
        let stub = format!("{}    pass\n", case["code_prompt"].as_str().unwrap());
        if let Verdict::NotRunnable { why } = judge(case, &stub, &bench).unwrap() {
            lacking.push(format!("{}: {why}", case["task_id"]));
        }
        tried += 1;
    }
    assert!(tried >= 50, "{tried} cases");
    assert!(lacking.len() * 10 <= tried, "{} of {tried}: {lacking:#?}", lacking.len());
}
