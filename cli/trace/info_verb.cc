#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/program/wall_clock.h"
#include "cli/trace/trace_input.h"
#include "logformat/description/recorded_part.h"
#include "logformat/description/trace_description.h"
#include "logformat/read/clock_samples.h"

namespace countrace::cli {
namespace {

using Json = nlohmann::ordered_json;
using logformat::SessionScope;
using logformat::StreamClass;
using logformat::StreamInfo;
using logformat::TraceInfo;
using logformat::TriggerFiring;

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

std::string WallClock(const TraceInfo& info) {
  if (!info.has_times) return "not known";
  return FormatWallClock(static_cast<std::int64_t>(info.begin_ns) +
                         info.realtime_offset_ns);
}

struct StreamTotals {
  std::uint64_t cpu_streams = 0, thread_streams = 0, packets = 0;
  std::uint64_t bytes = 0, disk_bytes = 0;
};

StreamTotals Sum(const std::vector<StreamInfo>& streams) {
  StreamTotals totals;
  for (const StreamInfo& stream : streams) {
    ++(stream.stream_class == StreamClass::kCpu ? totals.cpu_streams
                                                : totals.thread_streams);
    totals.bytes += stream.bytes;
    totals.disk_bytes += stream.disk_bytes;
    totals.packets += stream.packets;
  }
  return totals;
}

// Overwritten packets of a flight recording are holes in its files.
std::string SizeText(const StreamTotals& totals) {
  const std::string disk = base::FormatBytes(totals.disk_bytes);
  if (totals.disk_bytes == totals.bytes) return disk;
  return absl::StrFormat("%s on disk, %s with holes", disk,
                         base::FormatBytes(totals.bytes));
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

// "segment server:handle > 20ms: server:handle took 23.1 ms in tid 7 (x),
// 1.234567 s after the beginning (@54.001234567)".
std::string TriggerLine(const TraceInfo& info, const TriggerFiring& trigger) {
  if (trigger.time_ns == logformat::kNotReached) {
    return trigger.trigger + ": " + trigger.what;
  }
  const std::uint64_t since_ns =
      trigger.time_ns - std::min(trigger.time_ns, info.begin_ns);
  return absl::StrFormat(
      "%s: %s, %s after the beginning (@%s)", trigger.trigger, trigger.what,
      base::FormatInstant(since_ns), base::FormatSeconds(trigger.time_ns));
}

Json PausesJson(const TraceInfo& info) {
  Json out = Json::array();
  for (const logformat::TimeSpan& pause : info.pauses) {
    const bool ends = pause.until_ns != logformat::kNotReached;
    out.push_back({{"from_ns", pause.from_ns},
                   {"until_ns", ends ? Json(pause.until_ns) : Json()}});
  }
  return out;
}

Json TriggersJson(const TraceInfo& info) {
  Json out = Json::array();
  for (const TriggerFiring& trigger : info.triggers) {
    const bool reached = trigger.time_ns != logformat::kNotReached;
    out.push_back({{"time_ns", reached ? Json(trigger.time_ns) : Json()},
                   {"trigger", trigger.trigger},
                   {"what", trigger.what}});
  }
  return out;
}

// The names of the events of each set.
Json SetsJson(const logformat::EventSets& sets,
              const std::vector<std::string>& events) {
  Json out = Json::array();
  for (std::size_t i = 0; i < sets.sizes.size(); ++i) {
    const auto first =
        events.begin() + static_cast<std::ptrdiff_t>(sets.first_event(i));
    out.push_back(Json(std::vector<std::string>(
        first, first + static_cast<std::ptrdiff_t>(sets.sizes[i]))));
  }
  return out;
}

// One line for each event with a narrower counter or a known rate.
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

Json LimitsJson(const std::vector<logformat::CounterLimit>& limits,
                const std::vector<std::string>& events) {
  Json out = Json::object();
  for (std::size_t i = 0; i < std::min(limits.size(), events.size()); ++i) {
    if (!limits[i].any()) continue;
    Json& limit = out[events[i]];
    limit["width"] = limits[i].width;
    limit["per_second"] =
        limits[i].per_second == 0 ? Json() : Json(limits[i].per_second);
  }
  return out;
}

// What the heads of the packets and the description say.
logformat::LossStatement LossOf(const logformat::TraceReader& reader) {
  logformat::Loss loss;
  loss.AddDiscarded(reader.session_discarded());
  for (const StreamInfo& stream : reader.streams()) loss.Add(stream);
  for (const auto& what : logformat::NotRecordedOf(reader.info())) {
    loss.Add(what);
  }
  loss.damaged = reader.messages().size();
  loss.unfinished = reader.info().finished ? 0 : 1;
  return logformat::StateLoss(loss);
}

std::string ClockText(const logformat::ClockSamples& clocks) {
  if (clocks.samples.empty()) return "no samples";
  const logformat::ClockSample& last = clocks.samples.back();
  const double bound_ns = static_cast<double>(last.max_error_us) * 1e3;
  std::string text = absl::StrFormat("%d samples; ", clocks.samples.size());
  text += last.synchronised()
              ? "synchronised, at most " + base::FormatNanoseconds(bound_ns) +
                    " off (adjtimex maxerror)"
          : last.state < 0 ? "not known whether synchronised"
                           : "not synchronised";
  for (const std::string& what : clocks.damage) text += "; " + what;
  return text;
}

std::string Text(const TraceInfo& info, const StreamTotals& totals,
                 const logformat::LossStatement& loss,
                 const logformat::ClockSamples& clocks) {
  std::string out;
  const auto line = [&](const char* name, const std::string& value) {
    absl::StrAppendFormat(&out, "%-14s %s\n", name, base::EscapeName(value));
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
  for (const auto& [name, id] : IdsOf(info)) line(name, id);
  line("began", WallClock(info));
  line("clock", ClockText(clocks));
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
  if (!info.pauses.empty()) {
    line("pauses",
         absl::StrFormat("%d, left out of all tables", info.pauses.size()));
  }
  line("hooks", std::to_string(info.hooks.size()));
  line("streams", absl::StrFormat("%d of CPUs, %d of threads; %d packets, %s",
                                  totals.cpu_streams, totals.thread_streams,
                                  totals.packets, SizeText(totals)));
  line("loss", loss.text);
  for (const auto& what : info.not_recorded) line("not recorded", what.text);
  // Only the heads of packets were read.
  if (info.source.empty()) {
    line("records", "not checked here; `countrace verify` checks them");
  }
  return out;
}

std::string JsonText(const TraceInfo& info, const StreamTotals& totals,
                     const std::vector<StreamInfo>& streams,
                     const logformat::LossStatement& loss,
                     const logformat::ClockSamples& clocks) {
  const bool times = info.has_times;
  Json out = {{"schema", "countrace.info/1"},
              {"path", info.path},
              {"state", StateName(info)},
              {"scope", ScopeName(info.scope)},
              {"command", info.command},
              {"hostname", info.hostname},
              {"kernel_release", info.kernel_release},
              {"begin_ns", times ? Json(info.begin_ns) : Json()},
              {"began", times ? Json(WallClock(info)) : Json()},
              {"cpus", info.cpus},
              {"events", info.cpu_events},
              {"hook_events", info.thread_events},
              {"dump_rules", info.dump_rules},
              {"triggers", TriggersJson(info)},
              {"pauses", PausesJson(info)},
              {"count", logformat::GatingText(logformat::GatingOf(info))},
              {"marks", info.marks}};
  for (const auto& [name, id] : IdsOf(info)) out[name] = id;
  out["clock"] = {{"samples", clocks.samples.size()},
                  {"text", ClockText(clocks)}};
  if (!info.source.empty()) {
    out["source"] = info.source;
    out["source_paths"] = info.source_paths;
    out["not_known"] = info.not_known;
  }
  if (info.cpu_sets().rotates() || info.thread_sets().rotates()) {
    out["event_sets"] = SetsJson(info.cpu_sets(), info.cpu_events);
    out["hook_event_sets"] = SetsJson(info.thread_sets(), info.thread_events);
  }
  if (!info.cpu_counter_limits.empty() || !info.thread_counter_limits.empty()) {
    out["counters"] = LimitsJson(info.cpu_counter_limits, info.cpu_events);
    out["hook_counters"] =
        LimitsJson(info.thread_counter_limits, info.thread_events);
  }
  Json& lost = out["loss"] = {{"text", loss.text}, {"is_loss", loss.is_loss}};
  for (const auto& [name, number] : loss.numbers) lost[name] = number;
  out["records_checked"] = false;  // only the heads of packets were read
  out["hooks"] = info.hooks.size();
  out["packets"] = totals.packets;
  out["bytes"] = totals.bytes;
  out["disk_bytes"] = totals.disk_bytes;
  Json& list = out["streams"] = Json::array();
  for (const StreamInfo& stream : streams) {
    list.push_back(
        {{"file", stream.file},
         {"class", stream.stream_class == StreamClass::kCpu ? "cpu" : "thread"},
         {"packets", stream.packets},
         {"bytes", stream.bytes},
         {"disk_bytes", stream.disk_bytes}});
  }
  // As in `report`: ASCII only, so that no name can act on a terminal.
  return out.dump(1, ' ', /*ensure_ascii=*/true,
                  Json::error_handler_t::replace) +
         "\n";
}

int RunInfo(const Arguments& arguments) {
  VerbParser parser(kInfoVerb);
  TraceOptions options;
  TraceInput input(kInfoVerb.name, options);
  std::string format;
  parser.AddReadTrace(options);
  parser.AddFormat(format, {"text", "json"});
  if (const auto status = parser.Parse(arguments)) return *status;

  const auto reader = input.Open(options.trace, TimesUse::kNotNeeded);
  if (!reader.ok()) return ReportFailure(kInfoVerb.name, reader.status());
  const TraceInfo& info = (*reader)->info();
  const std::vector<StreamInfo>& streams = (*reader)->streams();
  const StreamTotals totals = Sum(streams);
  const logformat::LossStatement loss = LossOf(**reader);
  const auto clocks = logformat::ReadClockSamples(**reader);
  if (!clocks.ok()) return ReportFailure(kInfoVerb.name, clocks.status());
  return PrintData(kInfoVerb.name,
                   format == "json"
                       ? JsonText(info, totals, streams, loss, *clocks)
                       : Text(info, totals, loss, *clocks));
}

}  // namespace

const Verb kInfoVerb = {"info", kInfoHelp, RunInfo};

}  // namespace countrace::cli
