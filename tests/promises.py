#!/usr/bin/env python3
"""Reads docs/promises.md and fails where a test that it names is not there.

usage: promises.py ROOT | promises.py --self-test

A row of the table is a promise, where it is made, and the tests that hold it: `folder/file_test.cpp` and the name in quotes, or
another file below tests/ alone.
"""
import pathlib
import re
import sys

CELL = re.compile(r"`([^`]+)`(?:\s*\"([^\"]+)\")?")


def names_in(text):
    """The names of a file's test cases; literals that stand side by side are one."""
    joined = re.sub(r'"\s*\n\s*"', "", text)
    return set(re.findall(r'(?:TEST_CASE|TEMPLATE_TEST_CASE)\(\s*"((?:\\.|[^"\\])*)"', joined))


def check(table, read):
    """What is wrong with the lines of @p table; read(path below tests/) gives a file's text, or None."""
    wrong, rows = [], 0
    for number, line in enumerate(table.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3 or set(cells[0]) <= set("-: ") or cells[2] == "held by":
            continue
        rows += 1
        tests = CELL.findall(cells[2])
        if not tests:
            wrong.append(f"{number}: names no test: {cells[0]}")
        for path, name in tests:
            text = read(path)
            if text is None:
                wrong.append(f"{number}: there is no tests/{path}")
            elif path.endswith("_test.cpp") and not name:
                wrong.append(f"{number}: which test of tests/{path}?")
            elif name and name not in names_in(text):
                wrong.append(f"{number}: tests/{path} has no test \"{name}\"")
    return wrong, rows


def self_test():
    files = {"a/b_test.cpp": 'TEST_CASE("one thing",\n "[x]") {}\nTEST_CASE(\n  "a long "\n  "name", "[x]") {}\n', "c.py": ""}
    table = "| promise | said in | held by |\n|---|---|---|\n"
    row = "| p | d | {} |\n"
    good = table + row.format('`a/b_test.cpp` "one thing", `a/b_test.cpp` "a long name"; `c.py`')
    assert check(good, files.get) == ([], 1), check(good, files.get)
    for bad in ('`a/b_test.cpp` "another"', "`a/b_test.cpp`", "`none.py`", "nothing"):
        assert len(check(table + row.format(bad), files.get)[0]) == 1, bad
    print("promises.py finds what it looks for")


def main(root):
    tests = pathlib.Path(root) / "tests"

    def read(path):
        file = tests / path
        return file.read_text(encoding="utf-8") if file.is_file() else None

    wrong, rows = check((pathlib.Path(root) / "docs" / "promises.md").read_text(encoding="utf-8"), read)
    for one in wrong:
        print("docs/promises.md:" + one)
    print(f"{rows} promises")
    return 1 if wrong or rows < 30 else 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1] == "--self-test" else main(sys.argv[1]))
