#!/usr/bin/env python3
"""Counts what each class in include/gangsched has, and fails above 25 members of state or 60 functions: a class that large is several.

usage: class_sizes.py ROOT | class_sizes.py --self-test

State is data members that are not static. Functions are all member functions, overloads and operators each, but for what is `= default` or
`= delete`. What a class inherits and its nested classes count for themselves. RECORDS lists what is counted in another way, and why.
It is no compiler: it reads headers as they are written here.
"""
import pathlib
import re
import sys

MOST_STATE = 25
MOST_FUNCTIONS = 60
# Documents: all that a host says of a pod, which is as much as Kubernetes has it say, and the same as the model keeps it. No field depends on
# another, and they have no function that changes one, so that more of them make nothing harder to understand. So have snapshots all that there
# is of a cluster.
RECORDS = {"pod_spec", "pod_class", "saved_cluster"}


def strip(text):
    """The code without comments, preprocessor lines and the contents of literals."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*'

    def replace(match):
        token = match[0]
        return '""' if token.startswith(('"', "R")) else "0" if token.startswith("'") else " "

    return re.sub(pattern, replace, text, flags=re.DOTALL | re.MULTILINE)


def closing(text, start):
    """Where the bracket that opens at @p start is closed."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] in "({[":
            depth += 1
        elif text[at] in ")}]":
            depth -= 1
            if depth == 0:
                return at
    raise ValueError("a bracket is not closed: " + text[start:start + 60])


def flat(text):
    """@p text with what is in round, square and curly brackets taken out, then what is in angle brackets of templates."""
    out, at = "", 0
    while at < len(text):
        out += text[at]
        if text[at] in "({[":
            at = closing(text, at)
            out += text[at]
        at += 1
    out = re.sub(r"\boperator\s*(\(\)|\[\]|[^\s(\w]+)", "operator", out).replace("->", "").replace("<=", "").replace(">=", "")
    while True:
        less = re.sub(r"<[^<>]*>", "", out)
        if less == out:
            return out
        out = less


def declarations(body):
    """The declarations of a class body: what ends in a semicolon or is a function with a block."""
    start = at = 0
    while at < len(body):
        if body[at] == ";":
            yield body[start:at]
            start = at + 1
        elif body[at] in "([":
            at = closing(body, at)
        elif body[at] == "{":
            before = body[start:at].rstrip()
            head = re.sub(r"\b(alignas|requires|noexcept|explicit)\s*\(\)", "", flat(before)).split("=")[0]
            # Of a constructor with a list of members the block is what follows a closing bracket, not a member's braces.
            is_block = "(" in head and (before.endswith((")", "}")) or not re.search(r"\)[^()]*[^:]:[^:]", head + " "))
            at = closing(body, at)
            if is_block:
                yield body[start:at + 1]
                start = at + 1
        at += 1


def classes(text):
    """Yields (name, members of state, functions, const functions) of each class that is defined in @p text, in others or in none."""
    for found in re.finditer(r"\b(?<!enum )(?:struct|class|union)\b([^;{}()=]*(?:\(\w*\)[^;{}()=]*)*)\{", text):
        name = re.match(r"\s*([\w:]*)", re.sub(r"\balignas\(\w*\)|\bGANGSCHED_API\b|\[\[\w+\]\]", " ", found[1]))[1]
        yield (name or "unnamed", *count(text[found.end():closing(text, found.end() - 1)]))


def count(body):
    """Data members, functions that may change something, and const functions of a class body."""
    state = functions = const_functions = 0
    for one in declarations(body):
        one = re.sub(r"\b(public|private|protected)\s*:(?!:)", " ", one)
        one = re.sub(r"\[\[[^\]]*\]\]|\balignas\([^)]*\)|\bGANGSCHED_API\b", " ", one).strip()
        if not one or re.match(r"(using|typedef|friend|static_assert|enum)\b", one):
            continue
        plain = flat(one).strip()
        if re.match(r"template\s+(struct|class|union)\b|template\s+friend\b", plain):
            continue
        plain = re.sub(r"^template\s*", "", plain)
        plain = re.sub(r"\b(requires|explicit|noexcept|decltype)\s*\(\)", " ", plain)
        if re.match(r"(struct|class|union)\b", plain):
            after = plain.split("}", 1)[1].strip() if "}" in plain else ""
            state += len(after.split(",")) if after else 0
            continue
        if re.search(r"=\s*(default|delete)$", plain):
            continue
        if "(" in plain.split("=")[0].split("{")[0] or re.search(r"\boperator\b", plain):
            tail = plain.split(")", 1)[1] if ")" in plain else ""
            if re.match(r"\s*const\b", tail):
                const_functions += 1
            else:
                functions += 1
        elif not re.match(r"(static|inline static|constexpr static)\b", plain):
            state += len(plain.split(","))
    return state, functions, const_functions


def check(files):
    """All that is wrong with @p files, a mapping from path to text, and how many classes were read."""
    problems, read = [], 0
    for path, text in sorted(files.items()):
        for name, state, functions, const_functions in classes(strip(text)):
            read += 1
            all_functions = functions + const_functions
            if state > MOST_STATE and not (name in RECORDS and functions == 0):
                problems.append(f"{path}: {name} has {state} members of state, more than {MOST_STATE}")
            if all_functions > MOST_FUNCTIONS:
                problems.append(f"{path}: {name} has {all_functions} functions, more than {MOST_FUNCTIONS}")
    return problems, read


A_CLASS = "namespace n {\nclass a {\n public:\n%s};\n}\n"

SELF_TEST = [  # the body of a class `a`, and its members of state, functions, const functions
    ("  int x;\n  int y = 3, z{4};\n", (3, 0, 0)),
    ("  static constexpr int x = 3;\n  static int count;\n  using t = int;\n  enum class e { p, q };\n  friend class b;\n", (0, 0, 0)),
    ("  std::map<int, std::pair<int, int>> x, y;  // int z;\n  std::function<void(int)> f;\n  column<row_t> first{undo, no_row};\n", (4, 0, 0)),
    ("  a();\n  ~a();\n  a(const a&) = delete;\n  a& operator=(const a&) = default;\n", (0, 2, 0)),
    ("  a(int one) : x(one), y{2} { f(); }\n  explicit a(b& c) noexcept : y{c.y} {}\n  int x, y;\n", (2, 2, 0)),
    ("  [[nodiscard]] int f() const { return g({1, 2}); }\n  int g(std::vector<int> of = {});\n  int h(int) const noexcept;\n", (0, 1, 2)),
    ("  int operator()(int) const;\n  bool operator==(const a&) const = default;\n  bool operator<(const a&) { return true; }\n", (0, 1, 1)),
    ("  template <class T>\n    requires(sizeof(T) <= 8)\n  void each(T&& visit) {\n    visit(1);\n  }\n  virtual int f() const = 0;\n", (0, 1, 1)),
    ("  struct b {\n    int p, q;\n    int f();\n  };\n  struct {\n    int r;\n  } one, two;\n  b three{1, 2};\n", (3, 0, 0)),
    ("  int x : 3;\n  std::vector<int> f = {1, 2};\n  char text[8];\n  alignas(64) std::uint8_t word = 0;\n", (4, 0, 0)),
]


def self_test():
    failures = 0
    for body, expected in SELF_TEST:
        found = next(found for found in classes(strip(A_CLASS % body)) if found[0] == "a")[1:]
        if found != expected:
            failures += 1
            print(f"{body}  expected: {expected}\n  found:    {found}")
    members = "".join(f"  int x{i};\n" for i in range(MOST_STATE))
    functions = "".join(f"  void f{i}();\n" for i in range(MOST_FUNCTIONS))
    one_const = "  int q() const;\n"
    for body, name, expected in [(members + functions, "a", None), (members + "  int more;\n", "a", "26 members"),
                                 (functions + "  void more();\n", "a", "61 functions"), (functions + one_const, "a", "61 functions"),
                                 (members + "  int more;\n", "pod_spec", None), (members + "  int more;\n  void f();\n", "pod_spec", "26 members")]:
        problems, read = check({"a.hpp": A_CLASS.replace("class a", "class " + name) % body})
        if read != 1 or len(problems) != (expected is not None) or (expected and expected not in problems[0]):
            failures += 1
            print(f"{name} with {body.count(chr(10))} lines\n  expected: {expected}\n  found:    {problems}")
    print(f"{failures} cases do not behave" if failures else "every case behaves")
    return 1 if failures else 0


def main(root):
    root = pathlib.Path(root)
    files = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in (root / "include").rglob("*.hpp")}
    problems, read = check(files)
    print("\n".join(problems) or f"{read} classes are small enough")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(self_test() if sys.argv[1] == "--self-test" else main(sys.argv[1]))
