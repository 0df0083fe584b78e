#!/usr/bin/env python3
"""Reads the sources and fails on an include that the layers do not allow, on a few words that have no place in a library, and on what every
file of a kind has: a plugin's header ends by asserting what it is, a concept of the framework is tested on who satisfies it and who does not,
no line has more than 140 columns.

usage: layers.py ROOT | layers.py --self-test

core <- devices <- queues <- model <- framework <- policies <- plugins <- scheduling <- engine <- facade <- what_if: a file includes its own layer and earlier
ones. Two exceptions: the engine and scheduling know no plugin and no policy, and a plugin knows no other. The facade is what lies directly in include/gangsched/ and src/. There are no other
folders there. A header that a host includes (HOST) includes only such headers, so that nobody pays for the tables of a cluster, views and
hooks who does not look into them; bodies, which it includes in header-only builds, may. The component kube/ stands on what a host includes, too,
and so do report/ and record/; nothing but c/, the library for C, which stands on all of that, includes them; the bodies of components are always compiled. A binding (bindings/)
includes what a host or a plugin's author does, or the library for C.
Within src/kube/ there are families, which stand on those that FAMILIES names; simulation also on what the component's hosts include.
"""
import pathlib
import re
import sys

LAYERS = ["core", "devices", "queues", "model", "framework", "policies", "plugins", "scheduling", "engine", "facade", "what_if"]
COMPONENTS = ["kube", "report", "record", "c"]
# Beside what hosts include a component may include these components, below include/gangsched/.
STANDS_ON = {"kube": [], "report": [], "record": [], "c": ["kube", "report", "record"]}
# What a host includes, beside core/ and the facade but for plugins.hpp.
HOST = {"devices/" + name + ".hpp" for name in (
            "cpu_assignment", "cpu_bind_policy", "cpu_binding", "cpu_manager", "device_grant", "device_spec", "fixed_set", "gpu_machines", "gpu_partitions", "links", "mig",
            "numa_hints", "numa_topology")} | {
        "model/" + name + ".hpp" for name in (
            "affinity_spec", "call_listener", "cluster", "cluster_listing", "cluster_questions", "cluster_queues", "colocation", "device_alternatives", "fwd", "group_spec", "node_load", "queue_spec", "reservation_spec", "saved_cluster", "saved_tables", "service_class", "kube_semantics", "label_selector", "pod_state", "reads", "requests", "spec", "transaction", "validate")} | {
        "framework/" + name + ".hpp" for name in ("argument", "decision", "events", "fwd", "kernel_table", "point", "registry")} | {
        "scheduling/" + name + ".hpp" for name in ("attempt", "explanation", "measure_hooks", "move_plan", "observer", "options", "queue_listing", "run_time_estimates", "saved_scheduler")} | {"what_if/autoscaling.hpp"}
# A component may include these as well.
COMPONENT_ALSO = {"queues/hived/cell_binding.hpp", "queues/hived/cell_layout.hpp", "queues/hived/cell_scheduler.hpp", "queues/yunikorn/partition.hpp", "plugins/hived.hpp", "plugins/yunikorn.hpp", "devices/device_demand.hpp", "devices/device_inventory.hpp", "devices/numa_layout.hpp",
                  "framework/plugin_entry.hpp", "framework/points.hpp", "framework/lower.hpp", "model/name_rules.hpp", "model/node_selector.hpp"}
# A family of kube/, and those that it may include; "" is what lies directly in src/kube/.
FAMILIES = {"documents": [], "devices": ["documents"], "core": ["documents", "devices"], "groups": ["documents", "core"], "queues": ["documents", "core"], "colocation": ["documents", "core"],
            "volumes": ["documents", "core"], "configuration": ["documents"], "simulation": ["documents", "devices"], "": ["documents", "devices", "core", "groups", "queues", "colocation", "volumes"]}
# A binding (bindings/) stands on what hosts include, on components, and on framework/, whose hooks it fills from another language.
BINDING_ALSO = {"devices/device_inventory.hpp", "devices/gpu_outlook.hpp"}
MEASURE = "src/scheduling/measure_hooks.cpp"
MAX_LINES = 600
MAX_PLUGIN_LINES = 200
MAX_COLUMNS = 140

# What the library never does: I/O, time, threads, ending the process, hidden randomness.
FORBIDDEN = [
    (r"std::(cout|cerr|clog|cin)\b|\b(v?f?printf|puts|putchar)\s*\(|fmt::print\b|#\s*include\s*<(iostream|fstream|cstdio)>", "I/O"),
    (r"\b(system|steady|high_resolution|utc)_clock\b|\b(clock_gettime|gettimeofday)\b|std::time\s*\(", "a clock"),
    (r"std::(thread|jthread|async|mutex|shared_mutex)\b|\bthread_local\b", "threads"),
    (r"(?<![.\w>])(std::)?(abort|exit|_Exit|quick_exit|terminate)\s*\(", "ending the process"),
    (r"\brandom_device\b|\bs?rand\s*\(|\bgetenv\s*\(", "hidden input"),
]


def strip(text):
    """The code without comments and without the contents of string literals, except in #include lines."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|#\s*include[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''

    def replace(match):
        token = match[0]
        if token.startswith("#"):
            return token
        return "\n" * token.count("\n") + ("" if token.startswith("/") else '""')

    return re.sub(pattern, replace, text, flags=re.DOTALL)


def layer(path):
    """core ... facade, what_if, or a component, for a path below include/gangsched/ or src/."""
    top = path.split("/")[0] if "/" in path else "facade"
    return top if top in LAYERS + COMPONENTS else "facade"


def for_hosts(path):
    """Whether a host includes the header @p path (below include/gangsched/)."""
    return path in HOST or layer(path) == "core" or layer(path) == "facade" and path != "plugins.hpp"


def family(path):
    """Of a path below src/."""
    return path.split("/")[1] if path.count("/") > 1 else ""


def unknown_folder(path):
    """The folder of the file @p path (below include/gangsched/ or src/) that has no place here, or None."""
    folders = path.split("/")[:-1]
    if not folders or folders[0] in LAYERS and folders[0] != "facade":
        return None
    if folders[0] not in COMPONENTS:
        return folders[0]
    is_family = folders[0] == "kube" and folders[1:] == [family(path)] and family(path) in FAMILIES
    return None if len(folders) == 1 or is_family else "/".join(folders)


def check_include(own, target, exists, is_header):
    """Why the file @p own (below include/gangsched/, if it is a header of the library, or src/) may not include @p target ("gangsched/..."), or None."""
    below = target.removeprefix("gangsched/")
    is_body = below.startswith("src/")
    below = below.removeprefix("src/")
    if not exists(target):
        return "there is no such file"
    from_layer, to_layer = layer(own), layer(below)
    if from_layer in COMPONENTS:
        if to_layer != from_layer:
            fine = not is_body and (for_hosts(below) or below in COMPONENT_ALSO or to_layer in STANDS_ON[from_layer])
            return None if fine else f"{from_layer} may only include what a host does (HOST)"
        if from_layer == "kube" and is_body and family(below) not in [family(own), *FAMILIES[family(own)]]:
            return f"kube/{family(own)} may not include kube/{family(below)}"
        return None
    if to_layer in COMPONENTS:
        return f"nothing includes the component {to_layer}"
    if LAYERS.index(to_layer) > LAYERS.index(from_layer):
        return f"{from_layer} may not include {to_layer}: arrows point to earlier layers only"
    if from_layer in ("engine", "scheduling") and to_layer in ("plugins", "policies"):
        return f"{from_layer} may not include a plugin or a policy"
    if is_header and for_hosts(own) and not is_body and not for_hosts(below):
        return "a header that hosts include may not include an internal one (HOST)"
    if from_layer == to_layer == "plugins" and pathlib.PurePath(own).stem != pathlib.PurePath(below).stem:
        return "a plugin may not include another plugin"
    return None


def check_binding(target):
    """Why a binding may not include @p target ("gangsched/..."), or None."""
    below = target.removeprefix("gangsched/")
    fine = not below.startswith("src/") and (for_hosts(below) or layer(below) in [*COMPONENTS, "framework"] or below in BINDING_ALSO)
    return None if fine else "a binding may only include what a host or a plugin's author does"


def check_plugin(text):
    """What is wrong with the code @p text of a plugin's header: it ends with static_asserts that the plugin is what it says it is."""
    points = re.search(r"using\s+points\s*=\s*implements<([^>]*)>", text)
    if not points:
        return "no plugin: `using points = implements<...>`"
    tail = re.search(r"((?:static_assert\([^;]*\);\s*)*)\}\s*(?:#[^\n]*\s*)*$", text)
    asserted = set(re.findall(r"(\w+)_plugin<\w+>", tail[1])) if tail else set()
    listed = set(re.findall(r"point::(\w+)", points[1]))
    if asserted != listed:
        return f"ends with static_asserts of {sorted(asserted)}, but lists {sorted(listed)}"
    return None


def untested_concepts(files):
    """Concepts of the framework that tests/framework does not ask about both somebody who satisfies them and somebody who does not."""
    tests = "".join(text for path, text in files.items() if path.startswith("tests/framework/"))
    for path, text in sorted(files.items()):
        if not path.startswith("include/gangsched/framework/"):
            continue
        # Those for plugins' authors: at the left margin of the header, and not in detail.
        public = re.sub(r"\nnamespace (?:gangsched::(?:inline GANGSCHED_ABI::)?)?detail \{.*?\n\}  // namespace \S*( \S*::)?detail", "", text,
                        flags=re.DOTALL)
        for concept in re.findall(r"^concept (\w+)", strip(public), re.MULTILINE):
            asked = [re.search(rf"\b{macro}\({concept}<", tests) for macro in ("STATIC_REQUIRE", "STATIC_REQUIRE_FALSE")]
            if not all(asked):
                yield f"{path}: tests/framework asks nobody who {'satisfies' if not asked[0] else 'does not satisfy'} the concept {concept}"


def unmeasured_slots(files):
    """A function of a plugin's row that measure_hooks does not wrap would be called with the wrong plugin."""
    measured = set(re.findall(r'GANGSCHED_SLOT\("\w*", ([\w.]+)\)', files.get(MEASURE, "")))
    for path, text in sorted(files.items()):
        kernel = ""
        if not path.startswith("include/gangsched/framework/points/"):
            continue
        for line in strip(text).split("\n"):
            opened = re.match(r"struct (filter|score)_kernel", line)
            kernel = opened[1] + "." if opened else "" if line.startswith("}") else kernel
            slot = re.search(r"\(\*(\w+)\)\((const )?void\* self", line)
            if slot and slot[1] not in ("copy", "fork") and kernel + slot[1] not in measured:
                yield f"{path}: {MEASURE} does not wrap {kernel}{slot[1]}"


def check(files):
    """All that is wrong with @p files, a mapping from path (include/..., src/..., tests/...) to text."""
    problems = []
    included = set()

    def exists(target):
        return f"include/{target}" in files or target.removeprefix("gangsched/") in files

    for path, text in sorted(files.items()):
        lines = text.count("\n")
        if lines > MAX_LINES:
            problems.append(f"{path}: {lines} lines, more than {MAX_LINES}")
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > MAX_COLUMNS:
                problems.append(f"{path}:{number}: {len(line)} columns, more than {MAX_COLUMNS}")
        if path.startswith("include/gangsched/plugins/"):
            if lines > MAX_PLUGIN_LINES:
                problems.append(f"{path}: {lines} lines, more than {MAX_PLUGIN_LINES} for a plugin")
            why = check_plugin(strip(text))
            if why:
                problems.append(f"{path}: {why}")
        if path.startswith("bindings/"):
            for number, line in enumerate(strip(text).split("\n"), 1):
                include = re.match(r'\s*#\s*include\s*[<"](gangsched/[^>"]+)', line)
                why = check_binding(include[1]) if include else None
                if why:
                    problems.append(f"{path}:{number}: {include[1]}: {why}")
        if not path.startswith(("include/", "src/")):
            continue

        code = strip(text)
        own = path.removeprefix("include/gangsched/").removeprefix("src/")
        if unknown_folder(own):
            problems.append(f"{path}: there is no place for a folder {unknown_folder(own)}")
            continue
        for number, line in enumerate(code.split("\n"), 1):
            where = f"{path}:{number}"
            include = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if include:
                quote, target = include.groups()
                if target.startswith("gangsched/"):
                    included.add(target)
                    why = check_include(own, target, exists, path.startswith("include/"))
                    if why:
                        problems.append(f"{where}: {target}: {why}")
                elif quote == '"':
                    problems.append(f'{where}: {target}: write it as "gangsched/..."')
            if path.startswith("include/") and re.search(r"<(absl|fmt)/|\b(absl|fmt)::", line):
                problems.append(f"{where}: Abseil and fmt stay in src/")
            if layer(own) not in COMPONENTS:
                problems += [f"{where}: {what}" for pattern, what in FORBIDDEN if re.search(pattern, line)]

    for path in sorted(files):
        in_component = path.startswith("src/") and layer(path.removeprefix("src/")) in COMPONENTS
        if path.startswith("src/") and path.endswith(".cpp") and not in_component and f"gangsched/{path}" not in included:
            problems.append(f"{path}: no header includes it, so it is missing from header-only builds")
    return problems + list(untested_concepts(files)) + list(unmeasured_slots(files))


A_PLUGIN = """namespace gangsched {
struct p { using points = implements<point::filter, point::score>; };
static_assert(filter_plugin<p> && score_plugin<p>);
}  // namespace gangsched
"""
A_CONCEPT = "template <class P>\nconcept fits = true;\n"

A_KERNEL = "struct filter_kernel {\n  int (*key)(const void* self) = nullptr;\n};\nvoid* (*copy)(const void* self);\n"
SELF_TEST = [  # files, and a part of the one problem they have (None: they are fine)
    ({"include/gangsched/model/b.hpp": '#include "gangsched/core/a.hpp"\n'}, None),
    ({"include/gangsched/core/a.hpp": '#include "gangsched/model/b.hpp"\n'}, "core may not include model"),
    ({"include/gangsched/model/c.hpp": '#include "gangsched/devices/d.hpp"\n'}, None),
    ({"include/gangsched/devices/d.hpp": '#include "gangsched/model/b.hpp"\n'}, "devices may not include model"),
    ({"src/model/b.cpp": '#include "gangsched/framework/f.hpp"\n',
      "include/gangsched/model/b.hpp": '#include "gangsched/src/model/b.cpp"\n'}, "model may not include framework"),
    ({"include/gangsched/framework/f.hpp": '#include "gangsched/engine/e.hpp"\n'}, "framework may not include engine"),
    ({"include/gangsched/plugins/p.hpp": '#include "gangsched/engine/e.hpp"\n' + A_PLUGIN}, "plugins may not include engine"),
    ({"include/gangsched/engine/e.hpp": '#include "gangsched/plugins/p.hpp"\n'}, "engine may not include a plugin or a policy"),
    ({"include/gangsched/engine/e.hpp": '#include "gangsched/policies/p.hpp"\n', "include/gangsched/policies/p.hpp": ""}, "engine may not include a plugin or a policy"),
    ({"include/gangsched/framework/f.hpp": '#include "gangsched/policies/p.hpp"\n', "include/gangsched/policies/p.hpp": ""}, "framework may not include policies"),
    ({"include/gangsched/plugins/q.hpp": '#include "gangsched/plugins/p.hpp"\n' + A_PLUGIN}, "may not include another plugin"),
    ({"include/gangsched/plugins/pq.hpp": '#include "gangsched/plugins/p.hpp"\n' + A_PLUGIN}, "may not include another plugin"),
    ({"src/plugins/p.cpp": '#include "gangsched/plugins/p.hpp"\n',
      "include/gangsched/plugins/p.hpp": A_PLUGIN + '#include "gangsched/src/plugins/p.cpp"\n'}, None),
    ({"include/gangsched/engine/e.hpp": '#include "gangsched/scheduler.hpp"\n'}, "engine may not include facade"),
    ({"include/gangsched/plugins.hpp": '#include "gangsched/plugins/p.hpp"\n#include "gangsched/engine/e.hpp"\n'}, None),
    ({"include/gangsched/scheduler.hpp": '#include "gangsched/kube/k.hpp"\n'}, "nothing includes the component kube"),
    ({"include/gangsched/kube/k.hpp": '#include "gangsched/scheduler.hpp"\n'}, None),
    ({"include/gangsched/kube/k.hpp": '#include "gangsched/core/a.hpp"\n'}, None),
    ({"include/gangsched/kube/k.hpp": '#include "gangsched/model/b.hpp"\n'}, "only include what a host does"),
    ({"src/kube/k.cpp": '#include "gangsched/src/core/a.cpp"\n'}, "only include what a host does"),
    ({"src/kube/core/c.cpp": '#include "gangsched/src/kube/devices/d.hpp"\n', "src/kube/devices/d.hpp": ""}, None),
    ({"src/kube/core/c.hpp": "", "src/kube/devices/d.hpp": '#include "gangsched/src/kube/core/c.hpp"\n'}, "kube/devices may not include kube/core"),
    ({"src/kube/k.hpp": "", "src/kube/devices/d.hpp": '#include "gangsched/src/kube/k.hpp"\n'}, "kube/devices may not include kube/"),
    ({"src/kube/k.cpp": '#include "gangsched/src/kube/devices/d.hpp"\n', "src/kube/devices/d.hpp": ""}, None),
    ({"src/kube/misc/m.cpp": ""}, "no place for a folder kube/misc"),
    ({"src/kube/core/more/m.cpp": ""}, "no place for a folder kube/core/more"),
    ({"include/gangsched/util/u.hpp": ""}, "no place for a folder util"),
    ({"include/gangsched/core/a.hpp": '#include "gangsched/core/nowhere.hpp"\n'}, "no such file"),
    ({"include/gangsched/core/a.hpp": '#include "id.hpp"\n'}, 'write it as "gangsched/'),
    ({"include/gangsched/core/a.hpp": "#include <absl/hash/hash.h>\n"}, "Abseil and fmt stay in src/"),
    ({"include/gangsched/core/a.hpp": "inline fmt::memory_buffer b;\n"}, "Abseil and fmt stay in src/"),
    ({"include/gangsched/core/a.hpp": "friend H AbslHashValue(H h);  // absl::Hash calls std::abort()\n"}, None),
    ({"include/gangsched/core/a.hpp": 'auto s = "std::cout << printf(1)";\n/* std::thread\n */\n'}, None),
    ({"include/gangsched/core/a.hpp": "void f() { std::cout << 1; }\n"}, "I/O"),
    ({"include/gangsched/core/a.hpp": 'void f() { printf("x"); }\n'}, "I/O"),
    ({"include/gangsched/core/a.hpp": "auto t = std::chrono::steady_clock::now();\n"}, "a clock"),
    ({"include/gangsched/core/a.hpp": "std::thread t;\n"}, "threads"),
    ({"include/gangsched/core/a.hpp": "void f() { std::abort(); }\n"}, "ending the process"),
    ({"include/gangsched/core/a.hpp": "void f() { log.abort(); }\n"}, None),
    ({"include/gangsched/plugins/p.hpp": "\n" * 201 + A_PLUGIN}, "more than 200 for a plugin"),
    ({"include/gangsched/plugins/p.hpp": A_PLUGIN}, None),
    ({"include/gangsched/plugins/p.hpp": A_PLUGIN + '#if GANGSCHED_HEADER_ONLY\n#include "gangsched/core/a.hpp"\n#endif\n'}, None),
    ({"include/gangsched/plugins/p.hpp": ""}, "no plugin"),
    ({"include/gangsched/plugins/p.hpp": A_PLUGIN.replace(" && score_plugin<p>", "")}, "but lists ['filter', 'score']"),
    ({"include/gangsched/plugins/p.hpp": A_PLUGIN.replace("}  //", "struct more {};\n}  //")}, "ends with static_asserts of []"),
    ({"tests/core/t.cpp": "// " + "ö" * 137 + "\n"}, None),
    ({"tests/core/t.cpp": "// " + "o" * 138 + "\n"}, "141 columns"),
    ({"include/gangsched/framework/f.hpp": A_CONCEPT}, "who satisfies the concept fits"),
    ({"include/gangsched/framework/f.hpp": A_CONCEPT, "tests/framework/t.cpp": "STATIC_REQUIRE(fits<p>);"}, "who does not satisfy the concept fits"),
    ({"include/gangsched/framework/f.hpp": A_CONCEPT,
      "tests/framework/t.cpp": "STATIC_REQUIRE(fits<p>);\nSTATIC_REQUIRE_FALSE(fits<q>);"}, None),
    ({"include/gangsched/framework/f.hpp": f"\nnamespace detail {{\n{A_CONCEPT}}}  // namespace detail\n"}, None),
    ({"include/gangsched/core/a.hpp": "\n" * 601}, "more than 600"),
    ({"tests/core/t.cpp": "\n" * 601}, "more than 600"),
    ({"src/kube/k.cpp": '#include "gangsched/scheduler.hpp"\n'}, None),
    ({"src/kube/k.cpp": '#include "gangsched/plugins.hpp"\n', "include/gangsched/plugins.hpp": ""}, "only include what a host does"),
    ({"src/c/c.cpp": '#include "gangsched/scheduler.hpp"\n#include "gangsched/kube/k.hpp"\n'}, None),
    ({"src/c/c.cpp": '#include "gangsched/record/r.hpp"\n', "include/gangsched/record/r.hpp": ""}, None),
    ({"src/c/c.cpp": '#include "gangsched/engine/e.hpp"\n'}, "only include what a host does"),
    ({"src/report/r.cpp": '#include "gangsched/scheduler.hpp"\n'}, None),
    ({"src/report/r.cpp": '#include "gangsched/kube/k.hpp"\n'}, "only include what a host does"),
    ({"src/core/a.cpp": '#include "gangsched/report/r.hpp"\n', "include/gangsched/report/r.hpp": ""}, "nothing includes the component report"),
    ({"src/c/c.cpp": '#include "gangsched/src/kube/k.cpp"\n', "src/kube/k.cpp": ""}, "only include what a host does"),
    ({"src/c/more/c.cpp": ""}, "no place for a folder c/more"),
    ({"src/kube/k.cpp": '#include "gangsched/c/c.h"\n', "include/gangsched/c/c.h": ""}, "only include what a host does"),
    ({"src/core/a.cpp": '#include "gangsched/c/c.h"\n', "include/gangsched/c/c.h": ""}, "nothing includes the component c"),
    ({"include/gangsched/scheduler.hpp": '#include "gangsched/engine/e.hpp"\n'}, "hosts include may not include an internal one"),
    ({"include/gangsched/scheduling/attempt.hpp": '#include "gangsched/framework/f.hpp"\n'}, "hosts include may not include an internal one"),
    ({"include/gangsched/model/cluster.hpp": '#include "gangsched/model/b.hpp"\n'}, "hosts include may not include an internal one"),
    ({"include/gangsched/model/cluster.hpp": '#include "gangsched/model/spec.hpp"\n', "include/gangsched/model/spec.hpp": ""}, None),
    ({"include/gangsched/model/cluster.hpp": '#include "gangsched/src/model/c.cpp"\n', "src/model/c.cpp": '#include "gangsched/model/b.hpp"\n'}, None),
    ({"include/gangsched/plugins.hpp": '#include "gangsched/plugins/p.hpp"\n'}, None),
    ({"include/gangsched/scheduling/attempt.hpp": '#include "gangsched/engine/e.hpp"\n'}, "scheduling may not include engine"),
    ({"include/gangsched/engine/e.hpp": '#include "gangsched/scheduling/attempt.hpp"\n', "include/gangsched/scheduling/attempt.hpp": ""}, None),
    ({"include/gangsched/framework/points/p.hpp": A_KERNEL}, "does not wrap filter.key"),
    ({"include/gangsched/framework/points/p.hpp": A_KERNEL, MEASURE: 'GANGSCHED_SLOT("Filter", filter.key);\n',
      "include/gangsched/scheduling/m.hpp": f'#include "gangsched/{MEASURE}"\n'}, None),
    ({"src/core/lost.cpp": "\n"}, "missing from header-only builds"),
    ({"bindings/x/b.cpp": "#include <gangsched/scheduler.hpp>\n#include <gangsched/kube/k.hpp>\n#include <gangsched/framework/f.hpp>\n"}, None),
    ({"bindings/x/b.cpp": "#include <gangsched/engine/e.hpp>\n"}, "a binding may only include"),
    ({"bindings/x/b.cpp": "#include <gangsched/model/b.hpp>\n"}, "a binding may only include"),
    ({"bindings/x/b.cpp": "#include <gangsched/src/core/a.cpp>\n"}, "a binding may only include"),
    ({"bindings/x/b.cpp": "\n" * 601}, "more than 600"),
]


def self_test():
    empty = {f"include/gangsched/{name}": A_PLUGIN if name.startswith("plugins/") else "" for name in (
        "core/a.hpp", "devices/d.hpp", "model/b.hpp", "framework/f.hpp", "plugins/p.hpp", "engine/e.hpp", "scheduler.hpp", "kube/k.hpp")}
    body = {"src/core/a.cpp": "", "include/gangsched/core/uses_a.hpp": '#include "gangsched/src/core/a.cpp"\n'}
    failures = 0
    for files, expected in SELF_TEST:
        found = check(empty | body | files)
        if len(found) != (expected is not None) or (expected and expected not in found[0]):
            failures += 1
            print(f"{files}\n  expected: {expected}\n  found:    {found}")
    print(f"{len(SELF_TEST) - failures} of {len(SELF_TEST)} cases behave")
    return 1 if failures else 0


def main(root):
    root = pathlib.Path(root)
    paths = [path for folder in ("include", "src", "tests", "bench", "examples", "bindings")
             for suffix in ("*.hpp", "*.cpp", "*.h", "*.c") for path in (root / folder).rglob(suffix)]
    files = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    problems = check(files)
    print("\n".join(problems) or f"{len(files)} files keep to the rules")
    return 1 if problems else 0


if len(sys.argv) != 2:
    sys.exit(__doc__)
sys.exit(self_test() if sys.argv[1] == "--self-test" else main(sys.argv[1]))
