#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/escape_text.h"
#include "cli/exit_status.h"
#include "cli/open_trace.h"
#include "cli/quantity.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"

namespace countrace::cli {
namespace {

using logformat::SessionScope;
using logformat::StreamClass;
using logformat::StreamInfo;
using logformat::TraceInfo;
using logformat::TriggerFiring;

constexpr VerbText kText = {
    .name = "info",
    .summary = "what a trace holds",
    .usage = "[options] [TRACE...]",
    .details = "",
    .examples =
        "countrace info web.ctf\n"
        "countrace info --format json web.ctf | jq .events\n",
};

const char* ScopeName(SessionScope scope) {
  switch (scope) {
    case SessionScope::kHooksOnly:
      return "hooks";
    case SessionScope::kCommand:
      return "command";
    case SessionScope::kSystem:
      return "system";
  }
  return "unknown";
}

const char* StateName(const TraceInfo& info) {
  if (info.recording) return "recording";
  return info.finished ? "finished" : "unfinished";
}

// ISO 8601, UTC, nanoseconds.
std::string WallClock(const TraceInfo& info) {
  const std::int64_t ns =
      static_cast<std::int64_t>(info.begin_ns) + info.realtime_offset_ns;
  const std::time_t seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "unknown";
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  return absl::StrFormat("%s.%09dZ", text, ns % 1'000'000'000);
}

struct StreamTotals {
  std::uint64_t cpu_streams = 0, thread_streams = 0, bytes = 0, packets = 0;
};

StreamTotals Sum(const std::vector<StreamInfo>& streams) {
  StreamTotals totals;
  for (const StreamInfo& stream : streams) {
    ++(stream.stream_class == StreamClass::kCpu ? totals.cpu_streams
                                                : totals.thread_streams);
    totals.bytes += stream.bytes;
    totals.packets += stream.packets;
  }
  return totals;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

std::string JsonArray(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) {
    text += (text.size() == 1 ? "" : ", ") + JsonString(name);
  }
  return text + "]";
}

// "segment server:handle > 20ms: server:handle took 23.1 ms in tid 7 (x), 1.234
// s after the beginning".
std::string TriggerLine(const TraceInfo& info, const TriggerFiring& trigger) {
  const std::uint64_t since_ns =
      trigger.time_ns - std::min(trigger.time_ns, info.begin_ns);
  return absl::StrFormat("%s: %s, %s after the beginning", trigger.trigger,
                         trigger.what, FormatDuration(since_ns));
}

std::string TriggersJson(const TraceInfo& info) {
  std::string out = "[";
  for (const TriggerFiring& trigger : info.triggers) {
    absl::StrAppendFormat(
        &out, "%s{\"time_ns\": %d, \"trigger\": %s, \"what\": %s}",
        out.size() == 1 ? "" : ", ", trigger.time_ns,
        JsonString(trigger.trigger), JsonString(trigger.what));
  }
  return out + "]";
}

std::string JsonSets(const logformat::EventSets& sets,
                     const std::vector<std::string>& events) {
  std::string text = "[";
  for (std::size_t i = 0; i < sets.sizes.size(); ++i) {
    const auto first =
        events.begin() + static_cast<std::ptrdiff_t>(sets.first_event(i));
    text +=
        (i == 0 ? "" : ", ") +
        JsonArray({first, first + static_cast<std::ptrdiff_t>(sets.sizes[i])});
  }
  return text + "]";
}

// Of events whose counters are not simply 64 bits wide.
std::vector<std::string> LimitLines(
    const std::vector<logformat::CounterLimit>& limits,
    const std::vector<std::string>& events) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(limits.size(), events.size()); ++i) {
    const logformat::CounterLimit& limit = limits[i];
    if (!limit.any()) continue;
    std::string text = absl::StrFormat("%s %d bits", events[i], limit.width);
    if (limit.per_second != 0) {
      absl::StrAppendFormat(&text, ", at most %d/s", limit.per_second);
    }
    const auto wrap_ns = limit.WrapNs();
    if (limit.narrow() && wrap_ns) {
      absl::StrAppendFormat(&text, ": begins again at 0 after %.4f s",
                            static_cast<double>(*wrap_ns) / 1e9);
    }
    lines.push_back(std::move(text));
  }
  return lines;
}

std::string JsonLimits(const std::vector<logformat::CounterLimit>& limits,
                       const std::vector<std::string>& events) {
  std::string out = "{";
  for (std::size_t i = 0; i < std::min(limits.size(), events.size()); ++i) {
    if (!limits[i].any()) continue;
    absl::StrAppendFormat(
        &out, "%s%s: {\"width\": %d, \"per_second\": %s}",
        out.size() == 1 ? "" : ", ", JsonString(events[i]), limits[i].width,
        limits[i].per_second == 0 ? "null"
                                  : std::to_string(limits[i].per_second));
  }
  return out + "}";
}

std::string Text(const TraceInfo& info, const StreamTotals& totals) {
  std::string out;
  const auto line = [&](const char* name, const std::string& value) {
    absl::StrAppendFormat(&out, "%-14s %s\n", name, EscapeText(value));
  };
  line("trace", info.path);
  line("state", StateName(info));
  line("scope", ScopeName(info.scope));
  line("counted", logformat::GatingText(logformat::GatingOf(info)));
  for (const std::string& mark : info.marks) line("mark", mark);
  if (!info.source.empty()) line("recorded by", info.source);
  for (const std::string& path : info.source_paths) line("read from", path);
  for (const std::string& what : info.not_known) line("not known", what);
  line("command", info.command.empty() ? "none" : info.command);
  line("host", info.hostname + ", Linux " + info.kernel_release);
  line("began", WallClock(info));
  line("cpus", std::to_string(info.cpus));
  line("events", Joined(info.cpu_events));
  line("hook events", Joined(info.thread_events));
  const auto sets = [&](const char* name, const logformat::EventSets& of,
                        const std::vector<std::string>& events) {
    for (std::size_t i = 0; i < of.sizes.size(); ++i) {
      line(name,
           absl::StrFormat("%d {%s}", i, logformat::SetText(of, i, events)));
    }
  };
  sets("event set", info.cpu_sets(), info.cpu_events);
  sets("hook set", info.thread_sets(), info.thread_events);
  for (const std::string& text :
       LimitLines(info.cpu_counter_limits, info.cpu_events)) {
    line("counter", text);
  }
  for (const std::string& text :
       LimitLines(info.thread_counter_limits, info.thread_events)) {
    line("hook counter", text);
  }
  for (const std::string& rule : info.dump_rules) line("dump rule", rule);
  for (const TriggerFiring& trigger : info.triggers) {
    line("trigger", TriggerLine(info, trigger));
  }
  line("hooks", std::to_string(info.hooks.size()));
  line("streams", absl::StrFormat("%d of CPUs, %d of threads; %d packets, %s",
                                  totals.cpu_streams, totals.thread_streams,
                                  totals.packets, FormatBytes(totals.bytes)));
  return out;
}

std::string Json(const TraceInfo& info, const StreamTotals& totals,
                 const std::vector<StreamInfo>& streams) {
  std::string out = absl::StrFormat(
      "{\"schema\": \"countrace.info/1\",\n"
      " \"path\": %s, \"state\": \"%s\", \"scope\": \"%s\",\n"
      " \"command\": %s, \"hostname\": %s, \"kernel_release\": %s,\n"
      " \"begin_ns\": %d, \"began\": \"%s\", \"cpus\": %d,\n"
      " \"events\": %s,\n \"hook_events\": %s,\n"
      " \"dump_rules\": %s,\n \"triggers\": %s,\n"
      " \"count\": %s, \"marks\": %s,\n",
      JsonString(info.path), StateName(info), ScopeName(info.scope),
      JsonString(info.command), JsonString(info.hostname),
      JsonString(info.kernel_release), info.begin_ns, WallClock(info),
      info.cpus, JsonArray(info.cpu_events), JsonArray(info.thread_events),
      JsonArray(info.dump_rules), TriggersJson(info),
      JsonString(logformat::GatingText(logformat::GatingOf(info))),
      JsonArray(info.marks));
  if (!info.source.empty()) {
    absl::StrAppendFormat(
        &out, " \"source\": %s, \"source_paths\": %s,\n \"not_known\": %s,\n",
        JsonString(info.source), JsonArray(info.source_paths),
        JsonArray(info.not_known));
  }
  if (info.cpu_sets().rotates() || info.thread_sets().rotates()) {
    absl::StrAppendFormat(&out,
                          " \"event_sets\": %s, \"hook_event_sets\": %s,\n",
                          JsonSets(info.cpu_sets(), info.cpu_events),
                          JsonSets(info.thread_sets(), info.thread_events));
  }
  if (!info.cpu_counter_limits.empty() || !info.thread_counter_limits.empty()) {
    absl::StrAppendFormat(
        &out, " \"counters\": %s,\n \"hook_counters\": %s,\n",
        JsonLimits(info.cpu_counter_limits, info.cpu_events),
        JsonLimits(info.thread_counter_limits, info.thread_events));
  }
  absl::StrAppendFormat(
      &out, " \"hooks\": %d, \"packets\": %d, \"bytes\": %d,\n \"streams\": [",
      info.hooks.size(), totals.packets, totals.bytes);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    absl::StrAppendFormat(
        &out,
        "%s{\"file\": %s, \"class\": \"%s\", \"packets\": %d, \"bytes\": %d}",
        i == 0 ? "\n  " : ",\n  ", JsonString(streams[i].file),
        streams[i].stream_class == StreamClass::kCpu ? "cpu" : "thread",
        streams[i].packets, streams[i].bytes);
  }
  return out + "]}\n";
}

}  // namespace

int RunInfo(const Arguments& arguments) {
  VerbParser parser(kText);
  std::string trace = kDefaultTrace;
  std::string format;
  parser.AddReadTrace(trace);
  parser.AddFormat(format, {"text", "json"});
  if (const auto status = parser.Parse(arguments)) return *status;

  const auto reader = OpenTrace(kText.name, trace);
  if (!reader.ok()) return ReportFailure(kText.name, reader.status());
  const TraceInfo& info = (*reader)->info();
  const std::vector<StreamInfo>& streams = (*reader)->streams();
  const StreamTotals totals = Sum(streams);
  return PrintData(kText.name, format == "json" ? Json(info, totals, streams)
                                                : Text(info, totals));
}

}  // namespace countrace::cli
