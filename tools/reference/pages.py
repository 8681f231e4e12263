"""The pages of the manual that are made from the program's own tables: options and commands from --help (settings.def,
commands.def), operations and parameters from the shapes that requests are decoded with, metrics from a server, limits,
errors and the library from their headers. tools/docs writes them; what none of the tables says stands in no page."""

import collections
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
MADE = "<!-- made by tools/docs; do not edit -->\n"


def load_manual():
    """tools/manual, which reads --help and the header for man pages, as a module."""
    loader = importlib.machinery.SourceFileLoader("manual", str(ROOT / "tools/manual"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("manual", loader))
    loader.exec_module(module)
    return module


def escape(text):
    """Text for a table or paragraph of Markdown."""
    return re.sub(r"([\\|<*_])", r"\\\1", text)


def code(text):
    """In code; for a table, where a bar would end the cell."""
    return "`" + text.replace("|", "\\|") + "`"


def table(head, rows):
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows), ""])


# --- options and commands ---


def options_page(manual):
    rows = []
    for entry in manual.helps["serve"].options():
        text, _, default = entry.text.rpartition(" (default ")
        name = entry.names()[0]
        rows.append([f'<a id="{name[2:]}"></a>' + code(f"{name} {entry.value()}".strip()), code(default.rstrip(")")) if text else "",
                     escape(text or entry.text)])
    return f"""# Options of gramme serve

Each can be given as `--name VALUE`, as `GRAMME_NAME` in the environment (`GRAMME_LOG_LEVEL=debug`), or as `name = VALUE` in the file that
`--config` names. The command line wins over the environment, the environment over the file. A mistake in any of them is an error at the start.

{table(["option", "default", ""], rows)}"""


def command_section(name, parsed):
    lines = [f"## gramme {name}", ""]
    if parsed.usage:
        lines += ["```text", *parsed.usage, "```", ""]
    for section in parsed.sections:
        if section.title:
            lines += [f"**{escape(section.title)}**", ""]
        for paragraph in section.paragraphs:
            lines += [escape(paragraph), ""]
        if section.entries:
            rows = [[code(entry.term), escape(entry.text)] for entry in section.entries]
            lines += [table(["", ""], rows)]
    return "\n".join(lines)


def commands_page(module, manual):
    rows = [[f"[`gramme {name}`](#gramme-{name})", escape(manual.summaries[name])] for name in manual.pages]
    sections = [command_section(name, manual.helps[name]) for name in manual.pages if name != "serve"]
    shell = table(["", ""], [[code(entry.term), escape(entry.text)] for entry in manual.shell_commands()])
    return f"""# Commands

{table(["command", ""], rows)}
## gramme serve

[Its options](options.md) have a page of their own.

{chr(10).join(sections)}
## Commands of the shell

{shell}"""


# --- metrics ---


class Metric:
    def __init__(self, name, text):
        self.name, self.text, self.kind, self.labels = name, text, "", set()


def read_metrics(program):
    """The metrics of a server that has answered one request and refused another, and keeps the history of a table, by name."""
    command = [program, "serve", "--store", "memory:", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as server:
        try:
            address = next(found[1] for line in server.stderr if (found := re.search(r"serves (http://[\d.]+:\d+)", line)))
            commands = ("\\create Table pk\n\\put Table {\"pk\": \"a\"}\nINSERT INTO \"Table\" VALUE {'pk': 'a'};\n"
                        '\\call UpdateContinuousBackups {"TableName": "Table", '
                        '"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}\n')
            subprocess.run([program, "shell", address, "-k", "-y"], input=commands, text=True, check=False, capture_output=True)
            text = urllib.request.urlopen(f"{address}/metrics").read().decode()
        finally:
            server.terminate()
    return parse_metrics(text)


def parse_metrics(text):
    metrics = {}
    for line in text.splitlines():
        words = line.split(" ", 3)
        if words[:2] == ["#", "HELP"]:
            metrics[words[2]] = Metric(words[2], words[3])
        elif words[:2] == ["#", "TYPE"]:
            metrics[words[2]].kind = words[3]
        elif line:
            name = line.split("{")[0].split(" ")[0]
            metric = metrics.get(name) or metrics[re.sub(r"_(bucket|sum|count)$", "", name)]
            metric.labels |= set(re.findall(r'(\w+)="', line))
    return metrics


def metrics_page(program):
    rows = [[code(metric.name), metric.kind, ", ".join(map(code, sorted(metric.labels))), escape(metric.text)]
            for metric in read_metrics(program).values()]
    return f"""# Metrics

`GET /metrics` answers in Prometheus' text format. Counts of requests, units and errors are kept in the store and go on after a restart;
`gramme patterns reset` sets them to 0. A server with `--auth on` wants a signed request with the permission `gramme:GetInsight`; with `--insight off` there are none.

{table(["name", "type", "labels", ""], rows)}
The same numbers by access pattern, and much more, as JSON: [the insight API](../internals/insight-api.md).
"""


# --- limits and errors ---


def limits_page():
    text = (ROOT / "src/model/limits.h").read_text()
    found = re.findall(r"^#define (\w+) +(.+?) +/\* (.+?) \*/$", text, re.MULTILINE)
    assert len(found) == len(re.findall(r"^#define \w+ +\S", text, re.MULTILINE)), "limits.h: a limit without a comment"
    rows = []
    for name, value, what in found:
        number = eval(re.sub(r"\((?:size_t|int64_t)\)|LL\b", "", value), {"__builtins__": {}})  # numbers and * only
        unit = " bytes" if "BYTES" in name else " ms" if name.endswith("_MS") else ""
        rows.append([escape(what), f"{number:,}{unit}"])
    return f"""# Limits

The service's limits, which Gramme keeps so that a program that works here works there. Other bounds of single parameters are in
[parameters](parameters.md).

{table(["what", "limit"], rows)}
"""


def errors_page():
    found = re.findall(r'^ERROR\((\w+), "(\w+)", (\w+), (\d+)\)', (ROOT / "src/err/errors.def").read_text(), re.MULTILINE)
    cases = collections.Counter(answer["response"]["__type"].split("#")[1] for answers in golden_cases().values() for answer in answers
                                if isinstance(answer.get("response"), dict) and "__type" in answer["response"])
    seen = {(name, status): cases[name] for _, name, _, status in found}
    rows = [[code(name), status, str(count) if count else ""] for (name, status), count in sorted(seen.items())]
    return f"""# Errors

Every error that an operation can answer with, and how many recorded answers (`tests/conformance`) hold it, word for word.

{table(["error", "HTTP status", "recorded answers"], rows)}
"""


# --- the library ---


def library_page(module):
    lines = ["# Functions of libgramme", "", "From `include/gramme/gramme.h`. [How they go together](../client.md); "
             "[a first program](../tutorial-c.md). `man gramme_open` has the same.", ""]
    for title, functions in module.read_header().items():
        lines += [f"## {title[0].upper()}{title[1:]}", ""]
        for function in functions:
            lines += [f"### {escape(function.name)}", "", "```c", function.prototype, "```", ""]
            lines += comment_lines(function.comment)
    return "\n".join(lines)


def comment_lines(comment):
    """A comment as Markdown; its indented lines are code."""
    lines, is_code = [], False
    for line in comment.split("\n"):
        if line.startswith("    ") != is_code:
            is_code = not is_code
            lines += ["", "```c"] if is_code else ["```", ""]
        lines.append(line[4:] if is_code else escape(line))
    return [*lines, *(["```"] if is_code else []), ""]


# --- operations ---


def golden_cases():
    """{operation: recorded requests and answers}"""
    return {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "tests/conformance/cases").glob("*.json"))}


def paths_of_shape(shape, path=""):
    """Yields (path, shape, required) of all parameters below a shape."""
    for name, member in shape.get("members", {}).items():
        below = f"{path}.{name}" if path else name
        yield below, member, member["required"]
        yield from paths_of_shape(member, below)
    if "element" in shape:
        yield from paths_of_shape(shape["element"], path + ("[]" if shape["kind"] == "list" else "{}"))


def paths_of_request(value, shape, path=""):
    """Yields the parameters that a recorded request has."""
    if isinstance(value, dict) and "members" in shape:
        for name, member in shape["members"].items():
            if name in value:
                below = f"{path}.{name}" if path else name
                yield below
                yield from paths_of_request(value[name], member, below)
    elif "element" in shape and isinstance(value, (dict, list)):
        suffix = "[]" if shape["kind"] == "list" else "{}"
        for element in value.values() if isinstance(value, dict) else value:
            yield from paths_of_request(element, shape["element"], path + suffix)


def count_paths(cases, shape):
    """How many of the recorded requests have each parameter."""
    counts = collections.Counter()
    for case in cases:
        counts.update(set(paths_of_request(case.get("request"), shape)))
    return counts


def words_in_tests():
    """How many files of the suites over HTTP name a word."""
    counts = collections.Counter()
    for folder in ("blackbox", "js", "seeds", "cli", "conformance", "insight", "differential"):
        for path in (ROOT / "tests" / folder).glob("*"):
            if path.suffix in (".py", ".js"):
                counts.update(set(re.findall(r"\b[A-Z]\w+", path.read_text())))
    return counts


def bounds(shape):
    if "values" in shape:
        return ", ".join(map(code, shape["values"]))
    if "min" not in shape:
        return ""
    unit = {"string": " characters", "list": " elements", "map": " entries"}.get(shape["kind"], "")
    low, high = shape["min"], shape["max"]
    if high == 0 or high >= 2**31 - 1:
        return f"at least {low:,}{unit}" if low else ""
    return f"{low:,} to {high:,}{unit}"


class Operations:
    """What Gramme has, what the service has, and what the tests ask for."""

    def __init__(self, shapes, service):
        self.shapes, self.service, self.cases, self.words = shapes, service, golden_cases(), words_in_tests()
        self.ours = {name: shape for family in ("DynamoDB", "DynamoDBStreams") for name, shape in shapes[family].items()}

    def not_read(self, name):
        """Parameters of the service that the operation does not look at."""
        ours = {path for path, _, _ in paths_of_shape(self.ours[name])}
        missing = [path for path in self.service["operations"].get(name, []) if path not in ours]
        return [path for path in missing if not any(path.startswith((f"{other}.", f"{other}[", f"{other}{{")) for other in missing if other != path)]

    def recorded(self, name):
        return len(self.cases.get(name, []))

    def operations_page(self):
        rows = []
        for name in sorted({*self.ours, *self.service["operations"]}):
            if name not in self.ours:
                rows.append([code(name), "no", "", "", "UnknownOperationException"])
                continue
            parameters = list(paths_of_shape(self.ours[name]))
            missing = self.not_read(name)
            known = len(self.service["operations"].get(name, parameters))
            rows.append([f"[{code(name)}](parameters.md#{name.lower()})", "yes", f"{known - len(missing)} of {known}",
                         str(self.recorded(name) or ""), escape(self.ours[name]["summary"])])
        own = [[code(name), escape(shape["summary"])] for name, shape in self.shapes["Gramme"].items()]
        there = sum(name in self.ours for name in self.service["operations"])
        return f"""# Operations

{there} of the {len(self.service["operations"])} operations that the AWS SDK for JavaScript {self.service["version"]} knows of DynamoDB and its streams. Parameters: how many of
the service's are read. Recorded: requests and answers that a test compares word for word; beside them stand the other suites (`tests/README.md`).

{table(["operation", "here", "parameters", "recorded", ""], rows)}
Operations of Gramme's own, with the prefix `Gramme_20261115.` in `X-Amz-Target`:

{table(["operation", ""], own)}"""

    def operation_section(self, name):
        shape = self.ours[name]
        counts = count_paths(self.cases.get(name, []), shape)
        rows = []
        for path, member, required in paths_of_shape(shape):
            in_files = self.words[re.split(r"[.\[{]", path.rstrip("[]{}"))[-1]] if not counts[path] else 0
            tested = f"{counts[path]}" if counts[path] else f"in {in_files} files" if in_files else "no"
            rows.append([code(path), member["kind"] + (", required" if required else ""), bounds(member), tested])
        lines = [f"## {name}", "", escape(shape["summary"]) + ".", ""]
        lines += [table(["parameter", "type", "allowed", "tests"], rows)] if rows else ["No parameters.", ""]
        missing = self.not_read(name)
        if missing:
            lines += ["Not read: " + ", ".join(map(code, missing)) + ".", ""]
        return "\n".join(lines)

    def parameters_page(self):
        sections = [self.operation_section(name) for name in sorted(self.ours)]
        return f"""# Parameters

The parameters of each operation, from the tables that requests are decoded with. `[]` are elements of a list, `{{}}` values of a map. Tests: how many
recorded requests have the parameter, or how many files of the other suites name it. A parameter that is not read is ignored, as the service
ignores names that it does not know.

{chr(10).join(sections)}"""


def all_pages(program, shapes_program):
    """{name: text} of the pages of docs/reference."""
    module = load_manual()
    manual = module.Manual(str(program), "")
    shapes = json.loads(subprocess.run([shapes_program], check=True, capture_output=True, text=True).stdout)
    service = json.loads(subprocess.run(["node", ROOT / "tools/reference/service_model.mjs"], check=True, capture_output=True, text=True).stdout)
    operations = Operations(shapes, service)
    pages = {
        "options.md": options_page(manual), "commands.md": commands_page(module, manual), "metrics.md": metrics_page(str(program)),
        "limits.md": limits_page(), "errors.md": errors_page(), "library.md": library_page(module),
        "operations.md": operations.operations_page(), "parameters.md": operations.parameters_page(),
    }
    return {name: MADE + re.sub(r"\n{3,}", "\n\n", text.rstrip()) + "\n" for name, text in pages.items()}
