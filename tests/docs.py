#!/usr/bin/env python3
"""Holds README.md, docs/, tests/README.md and the pages of bindings/ to what they show.

usage: docs.py ROOT EXAMPLES COMPILER FLAG...     EXAMPLES: the folder with the built examples, or - to skip what they print

- Every block fenced ```cpp is a source file of its own: it must compile as it stands, without a warning, and a profile must
  take every plugin in it. So must one fenced ```c, as C11.
- `<!-- file: PATH -->` before a block: the block is that file, word for word.
- `<!-- output: NAME ARGUMENT… -->` before a block: the block is what the example NAME prints, run in ROOT.
- A file that a README of bindings/ shows is its quickstart: at most 30 lines.
- docs/extension-points/ has one page for each extension point; its examples have at most 20 lines.
- A link to a file leads to one, and to a heading if it says so.
- A source or header that is named is there. Of docs/architecture.md, every name in `code` is one in the code, and every part in a table of parts
  a class.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MAX_EXAMPLE_LINES = 20
MAX_QUICKSTART_LINES = 30
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
BLOCK = re.compile(r"^(?:<!-- (?P<kind>file|output): (?P<name>[^>]+?) -->\n+)?```(?P<language>\S*)[^\n]*\n(?P<text>.*?)^```$",
                   re.MULTILINE | re.DOTALL)
INCLUDE = re.compile(r"^#include [^\n]*$", re.MULTILINE)
PLUGIN = re.compile(r"^struct (\w+) {[^\n]*\n  static constexpr std::string_view name =", re.MULTILINE)


def blocks(page):
    """Yields (line, language, text, kind, name) for every fenced block."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start("language")) + 1, match["language"], match["text"], match["kind"], match["name"]


def anchors(page):
    """The heading anchors of a page, as GitHub makes them."""
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ (.*)$", prose, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def check_links(page):
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists():
            yield f"{page}: leads nowhere: {link}"
        elif anchor and anchor not in anchors(target):
            yield f"{page}: there is no such heading: {link}"


def spans(page):
    """Yields (line, text) for all that is `code` in the prose of a page."""
    prose = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))
    for match in re.finditer(r"`([^`\n]+)`", prose):
        yield prose.count("\n", 0, match.start()) + 1, match[1]


def check_names(pages, root):
    files = [path for folder in ("include", "src", "tests", "examples", "bench", "bindings") for path in (root / folder).rglob("*") if path.suffix in (".hpp", ".cpp", ".py")]
    paths = ["/" + path.relative_to(root).as_posix() for path in files]
    for page in pages:
        for line, text in spans(page):
            if re.fullmatch(r"[\w/.-]+\.(hpp|cpp|py)", text) and not any(path.endswith("/" + text) for path in paths):
                yield f"{page}:{line}: there is no file {text}"
    page = root / "docs/architecture.md"
    code = "\n".join(path.read_text(encoding="utf-8") for path in files)
    words = set(re.findall(r"\w+", code)) | {part for path in files for part in path.relative_to(root).parts}
    for line, text in spans(page):
        for word in re.findall(r"[A-Za-z_]\w*", re.sub(r"[\w/.-]+\.(hpp|cpp|py)\b", "", text)):
            if word not in words:
                yield f"{page}:{line}: {word} of `{text}` is not in the code"
    classes = set(re.findall(r"\b(?:class|struct) (?:GANGSCHED_API )?(\w+)(?=[^;{]*{)", code))
    rows = re.findall(r"^\| part \|.*\n\|[-|]*\|\n((?:\|.*\n)+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    parts = [part for table in rows for row in table.splitlines() for part in re.findall(r"`(\w+)`", row.split("|")[1])]
    if len(parts) < 40:
        yield f"{page}: there is no table of parts"
    for part in parts:
        if part not in classes:
            yield f"{page}: {part} is no class"


def check_copies(page, root, examples):
    for line, _, text, kind, name in blocks(page):
        if kind == "file" and text != (root / name).read_text(encoding="utf-8"):
            yield f"{page}:{line}: differs from {name}"
        if kind == "file" and page.name == "README.md" and page.parent.parent == root / "bindings" and text.count("\n") > MAX_QUICKSTART_LINES:
            yield f"{page}:{line}: a quickstart has at most {MAX_QUICKSTART_LINES} lines, this one {text.count(chr(10))}"
        if kind == "output" and examples != "-":
            program, *arguments = name.split()
            if program == "simulate" and not os.path.exists(os.path.join(examples, "gangsched-" + program)):
                print(f"{page}:{line}: gangsched-{program} is not built")  # without yaml-cpp there is no simulator
                continue
            command = [os.path.join(examples, "gangsched-" + program), *arguments]
            run = subprocess.run(command, capture_output=True, text=True, cwd=root)
            if run.returncode not in ((0, 1) if program == "simulate" else (0,)):  # 1: some pod is left over
                yield f"{page}:{line}: gangsched-{name} ends with {run.returncode}: {run.stderr}"
            if text != run.stdout:
                yield f"{page}:{line}: gangsched-{name} prints:\n{run.stdout}"


def check_points(root):
    """One page a point, and what is shown there fits."""
    header = (root / "include/gangsched/framework/point.hpp").read_text(encoding="utf-8")
    points = re.findall(r"\w+", re.search(r"enum class point[^{]*{(.*?)}", header, re.DOTALL)[1])
    pages = {page.stem.replace("-", "_"): page for page in (root / "docs/extension-points").glob("*.md")}
    for point in points:
        if point not in pages:
            yield f"docs/extension-points/: no page for point::{point}"
    for name, page in pages.items():
        if name not in points:
            yield f"{page}: there is no point::{name}"
        examples = [(line, text) for line, language, text, _, _ in blocks(page) if language == "cpp"]
        if not any(f"point::{name}" in text for _, text in examples):
            yield f"{page}: no example implements point::{name}"
        for line, text in examples:
            if text.count("\n") > MAX_EXAMPLE_LINES:
                yield f"{page}:{line}: an example has at most {MAX_EXAMPLE_LINES} lines, this one {text.count(chr(10))}"


def translation_unit(group):
    """Blocks that include the same, each in a namespace of its own; one alone as it stands, but for the order of what it includes."""
    includes = sorted(set(INCLUDE.findall(group[0][2])), key=lambda line: ("gangsched/gangsched.hpp" not in line, line))
    parts = [*includes]  # what is precompiled comes first
    checks = ["#include <gangsched/framework/contract.hpp>"]
    for number, (page, line, text) in enumerate(group):
        opening, closing, scope = (f"namespace block_{number} {{", "}", f"block_{number}::") if len(group) > 1 else ("", "", "")
        # With #line the compiler's messages name the page and its lines.
        parts += [opening, f'#line {line + 1} "{page}"', INCLUDE.sub("", text), closing]
        checks += [f"static_assert(gangsched::detail::keeps_contract<{scope}{plugin}>());" for plugin in PLUGIN.findall(text)]
    return "\n".join(parts + checks) + "\n"


def compile_error(group, command):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "blocks.cpp"
        source.write_text(translation_unit(group), encoding="utf-8")
        run = subprocess.run([*command, "-fsyntax-only", str(source)], capture_output=True, text=True)
        return None if run.returncode == 0 else run.stderr


def compile_errors(group, command):
    """Of blocks that include the same: what they include is compiled once, and if that fails each counts by itself."""
    if compile_error(group, command) is None:
        return []
    return [error for error in (compile_error([one], command) for one in group) if error]


def compiles_as_c(page, line, text, command):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "block.c"
        source.write_text(f'#line {line + 1} "{page}"\n{text}', encoding="utf-8")
        run = subprocess.run([*command, "-fsyntax-only", str(source)], capture_output=True, text=True)
        return None if run.returncode == 0 else run.stderr


def main(root, examples, compiler, *flags):
    root = pathlib.Path(root)
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md")), *sorted((root / "bindings").glob("*/README.md")), root / "tests/README.md"]
    problems = [*check_points(root), *check_names(pages, root)]
    for page in pages:
        problems += check_links(page)
        problems += check_copies(page, root, examples)
    sources = [(page, line, text) for page in pages for line, language, text, _, _ in blocks(page) if language == "cpp"]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        groups = {}
        for source in sources:
            groups.setdefault(frozenset(INCLUDE.findall(source[2])), []).append(source)
        for errors in pool.map(lambda group: compile_errors(group, [compiler, *flags, *WARNINGS]), groups.values()):
            problems += errors
        in_c = [(page, line, text) for page in pages for line, language, text, _, _ in blocks(page) if language == "c"]
        as_c = [compiler, "-x", "c", "-std=c11", *(flag for flag in flags if not flag.startswith("-std=")), *WARNINGS]
        problems += filter(None, pool.map(lambda source: compiles_as_c(*source, as_c), in_c))
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {len(sources) + len(in_c)} blocks compiled, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
