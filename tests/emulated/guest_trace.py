"""The guest's output about one recording: `verify`, `report`, `script`."""

import json
import re

_LINE = re.compile(r"^\[\d+\.\d+\] (\S+) (\S+): \{ (.*) \}$", re.M)
_FIELD = re.compile(r"(\w+) = (-?\d+)")


class GuestTrace:
    """`answers`: of the commands that reading_commands() made."""

    def __init__(self, name, answers):
        self.recorded = answers[f"{name}.record"]
        self.verified = answers[f"{name}.verify"]
        self.report = json.loads(answers[f"{name}.report"].output or "null")
        # (stream, event, fields) in the order of time
        self.records = [
            (stream, event, {k: int(v) for k, v in _FIELD.findall(fields)})
            for stream, event, fields in _LINE.findall(
                answers[f"{name}.script"].output
            )
        ]

    def calls(self, segment, counter):
        """Counts of each call of a segment, in order of its end."""
        open_calls, counts = [], []
        for _, event, fields in self.records:
            if event == f"{segment}__enter":
                open_calls.append(fields[counter])
            elif event == f"{segment}__exit":
                counts.append(fields[counter] - open_calls.pop())
        return counts

    def gaps(self, segment, counter):
        """The increment of `counter` from each call's exit to the next enter.
        """
        counts, ended = [], None
        for _, event, fields in self.records:
            if event == f"{segment}__exit":
                ended = fields[counter]
            elif event == f"{segment}__enter" and ended is not None:
                counts.append(fields[counter] - ended)
        return counts

    def stays(self, cpu, *counters):
        """(tid, counts...) of each dispatch on `cpu`: the increment of each of
        `counters` from dump to dump."""
        result, last, tid = [], None, None
        for stream, event, fields in self.records:
            if stream != f"cpu-{cpu}" or event not in ("dispatch", "counters"):
                continue
            now = [fields[name] for name in counters]
            if last is not None:
                result.append((tid, *(new - old for new, old in zip(now, last))))
            last = now
            tid = fields.get("next_tid", fields.get("running_tid"))
        return result

    def processes(self, comm):
        return [row for row in self.report["processes"] if row["comm"] == comm]


def recording_commands(name, options, workload, prefix=""):
    """name -> shell command, for Guest.run. `prefix`: starts the recorder."""
    trace = f"{name}.ctf"
    return {
        f"{name}.record":
            f"{prefix}countrace record -o {trace} {options} -- {workload}",
        f"{name}.verify": f"countrace verify {trace}",
        f"{name}.report": f"countrace report --format json {trace}",
        f"{name}.script":
            f"countrace script {trace} | grep \"dispatch:\\|counters:\\|loop:\"",
    }
