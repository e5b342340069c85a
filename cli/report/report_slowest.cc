#include "cli/report/report_slowest.h"

#include <algorithm>
#include <compare>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/text/name_escape.h"
#include "base/text/nearest_name.h"
#include "base/text/quantity_format.h"
#include "cli/program/progress_bar.h"
#include "cli/program/row_table.h"
#include "logformat/packet_layout.h"
#include "logformat/read/named_value.h"
#include "logformat/read/script_render.h"
#include "rmap/noted_reader.h"
#include "rmap/over_time/over_time.h"
#include "rmap/slowest_calls.h"
#include "rmap/where/record_condition.h"

namespace countrace::cli {
namespace {

using rmap::SlowCall;

absl::Status NoSuchSegment(const logformat::TraceInfo& info,
                           const std::string& segment,
                           const std::string& trace) {
  std::vector<std::string> names, near;
  for (const logformat::HookInfo& hook : info.hooks) {
    if (hook.kind != logformat::HookKind::kSegment) continue;
    names.push_back(hook.FullName());
    if (near.size() < 3 && absl::StrContains(names.back(), segment)) {
      near.push_back(base::EscapeName(names.back()));
    }
  }
  if (near.empty()) {
    const std::string nearest(base::NearestName(segment, names));
    if (!nearest.empty()) near.push_back(base::EscapeName(nearest));
  }
  return absl::NotFoundError(absl::StrFormat(
      "the trace has no segment %s: `countrace list hooks %s` names them%s",
      base::EscapeName(segment), base::EscapeName(trace),
      near.empty() ? ""
                   : absl::StrFormat("; did you mean %s?",
                                     absl::StrJoin(near, " or "))));
}

// The values of the calls, from their enters and exits.
class CallTexts final : public logformat::ItemSink {
 public:
  CallTexts(
      const logformat::TraceInfo& info, const std::vector<SlowCall>& calls,
      const std::unordered_map<std::uint32_t, const rmap::ThreadRow*>& threads)
      : values_(calls.size()) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto row =
          threads.find(static_cast<std::uint32_t>(calls[i].thread));
      const logformat::HookInfo* hook = info.FindHook(calls[i].hook_id);
      if (row == threads.end() || hook == nullptr || !AddHook(info, *hook)) {
        continue;
      }
      const std::int32_t tid = row->second->tid;
      wanted_[{calls[i].begin_ns, calls[i].hook_id, tid, false}] = i;
      wanted_[{calls[i].end_ns, calls[i].hook_id, tid, true}] = i;
    }
  }

  void OnRecord(const logformat::EventRecord& record) override {
    const auto at = wanted_.lower_bound({record.time_ns, 0, 0, false});
    if (at == wanted_.end() || at->first.time_ns != record.time_ns) return;
    const auto tid = TidOf(record);
    if (!tid) return;
    const std::uint32_t hook_id = logformat::EventHookId(record.event_id);
    const bool exit = (record.event_id & logformat::kEventExitBit) != 0;
    const auto found = wanted_.find({record.time_ns, hook_id, *tid, exit});
    if (found == wanted_.end()) return;
    Values& values = values_[found->second];
    for (const auto& [name, reader] : hooks_.at(hook_id)) {
      auto text = logformat::TextOf(reader.Of(record));
      if (!text) continue;
      const std::string shown = reader.NameOf(record);
      if (!shown.empty()) text = shown;
      const bool known =
          values.contains(name) && values[name].text != logformat::kUnreadable;
      if (known || (exit && text->empty())) continue;
      values[name] = {
          *text, std::holds_alternative<std::string_view>(reader.Of(record))};
    }
  }
  void OnDiscardedEvents(const logformat::DiscardedEvents&) override {}
  void OnDiscardedPackets(const logformat::DiscardedPackets&) override {}

  // "{ size = 7 }"; empty: no values.
  std::string Of(const SlowCall& call, std::size_t index) const {
    const Values& values = values_[index];
    if (values.empty()) return "";
    std::vector<std::string> parts;
    for (const auto& [name, reader] : hooks_.at(call.hook_id)) {
      const auto value = values.find(name);
      if (value == values.end()) continue;
      std::string part = name + " = ";
      if (value->second.quoted) part += '"';
      logformat::AppendEscaped(value->second.text, true, part);
      if (value->second.quoted) part += '"';
      parts.push_back(std::move(part));
    }
    return "{ " + absl::StrJoin(parts, ", ") + " }";
  }

 private:
  struct Text {
    std::string text;
    bool quoted;
  };
  using Values = std::map<std::string, Text>;
  using Readers = std::vector<std::pair<std::string, logformat::NamedValue>>;

  // Returns false if its calls have no values.
  bool AddHook(const logformat::TraceInfo& info,
               const logformat::HookInfo& hook) {
    if (hook.payload.empty() && hook.exit_payload.empty()) return false;
    Readers& readers = hooks_[hook.id];
    if (!readers.empty()) return true;
    std::vector<std::string> names = hook.payload_names;
    for (std::size_t i = names.size(); i < hook.payload.size(); ++i) {
      names.push_back(absl::StrFormat("arg%d", i));
    }
    for (const std::string& name : hook.exit_payload_names) {
      if (std::ranges::find(names, name) != names.end()) continue;
      names.push_back(name);
    }
    if (hook.origin != logformat::HookOrigin::kProgram) {
      names.emplace_back("ret");
    }
    for (const std::string& name : names) {
      readers.emplace_back(
          name, logformat::NamedValue(info, std::vector<std::string>{name}));
    }
    return true;
  }

  // The thread that a hook's record is of.
  static std::optional<std::int32_t> TidOf(
      const logformat::EventRecord& record) {
    if (record.stream_class == logformat::StreamClass::kThread) {
      return record.tid;
    }
    logformat::KernelHookRecord hook;
    if (!logformat::IsKernelHookEvent(record.event_id) ||
        record.bytes.size() < sizeof(hook)) {
      return std::nullopt;
    }
    std::memcpy(&hook, record.bytes.data(), sizeof(hook));
    return static_cast<std::int32_t>(hook.ids & 0xffffffu);
  }
  struct Key {
    std::uint64_t time_ns;
    std::uint32_t hook_id;
    std::int32_t tid;
    bool exit;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::size_t> wanted_;
  std::map<std::uint32_t, Readers> hooks_;
  std::vector<Values> values_;
};

// As one word of a shell.
std::string Quoted(const std::string& path) {
  const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_./+:@%,=-").find(c) != std::string_view::npos;
  });
  return plain ? path : "'" + absl::StrReplaceAll(path, {{"'", "'\\''"}}) + "'";
}

class SlowestTable {
 public:
  SlowestTable(const logformat::TraceInfo& info, const rmap::Report& report,
               const std::string& trace, bool text)
      : info_(info), report_(report), trace_(trace), text_(text) {
    for (const rmap::ThreadRow& row : report.threads) {
      threads_[static_cast<std::uint32_t>(row.index)] = &row;
    }
  }

  const auto& threads() const { return threads_; }

  std::string Render(const std::vector<SlowCall>& calls, const CallTexts& texts,
                     const std::string& format) {
    RowTable table(
        "countrace.slowest/1", "calls",
        {"segment", text_ ? "begin" : "begin_ns", "pid", "tid", "comm",
         text_ ? "wall" : "wall_ns", text_ ? "on-CPU" : "on_cpu_ns",
         text_ ? "wait" : "wait_ns", text_ ? "blocked" : "blocked_ns",
         text_ ? "woken by" : "woken_by", "payload", "quality", "view"});
    for (std::size_t i = 0; i < calls.size(); ++i) {
      table.Add(Row(calls[i], texts.Of(calls[i], i)));
    }
    return table.Render(format);
  }

 private:
  Cell Time(std::optional<std::uint64_t> ns) const {
    if (!ns) return std::monostate();
    if (!text_) return *ns;
    return base::FormatNanoseconds(static_cast<double>(*ns));
  }

  std::string Name(std::uint32_t hook_id) const {
    const logformat::HookInfo* hook = info_.FindHook(hook_id);
    return hook == nullptr ? absl::StrFormat("hook %d", hook_id)
                           : hook->FullName();
  }

  const rmap::ThreadRow* Thread(rmap::ThreadIndex thread) const {
    const auto found = threads_.find(static_cast<std::uint32_t>(thread));
    return found == threads_.end() ? nullptr : found->second;
  }

  std::string Who(const rmap::WokenBy& by) const {
    std::string who = "[" + std::string(rmap::WakerKindName(by.kind)) + "]";
    if (by.kind == rmap::WakerKind::kThread) {
      const rmap::ThreadRow* row = Thread(by.thread);
      who = row == nullptr
                ? "?"
                : absl::StrFormat("%s (tid %d)", row->comm, row->tid);
    }
    if (by.hook_id != 0) who += " in " + Name(by.hook_id);
    return who;
  }

  // The three that ended most of the blocked time.
  std::string WokenBy(const SlowCall& call) const {
    std::vector<std::pair<std::uint64_t, rmap::WokenBy>> most;
    for (const auto& [by, ns] : call.woken_by) most.emplace_back(ns, by);
    std::stable_sort(
        most.begin(), most.end(),
        [](const auto& a, const auto& b) { return b.first < a.first; });
    std::vector<std::string> parts;
    for (const auto& [ns, by] : most) {
      if (parts.size() == 3) {
        parts.push_back("others");
        break;
      }
      parts.push_back(Who(by) + " " +
                      base::FormatNanoseconds(static_cast<double>(ns)));
    }
    return absl::StrJoin(parts, ", ");
  }

  std::vector<Cell> Row(const SlowCall& call,
                        const std::string& payload) const {
    const rmap::ThreadRow* row = Thread(call.thread);
    const bool kernel = call.on_cpu_ns.has_value();
    const char* quality = call.end_inferred              ? "inferred"
                          : kernel && !call.on_cpu_exact ? "bounded"
                                                         : "exact";
    const auto number = [&](std::int32_t rmap::ThreadRow::*id) -> Cell {
      if (row == nullptr) return std::monostate();
      return static_cast<std::uint64_t>(std::max(row->*id, 0));
    };
    Cell begin = call.begin_ns;
    if (text_) begin = "@" + base::FormatSeconds(call.begin_ns);
    const bool wakeups = kernel && report_.wakeups;
    return {Name(call.hook_id),
            std::move(begin),
            number(&rmap::ThreadRow::pid),
            number(&rmap::ThreadRow::tid),
            row == nullptr ? std::string() : row->comm,
            Time(call.wall_ns()),
            Time(call.on_cpu_ns),
            Time(kernel ? std::optional(call.wait_ns) : std::nullopt),
            Time(wakeups ? std::optional(call.blocked_ns) : std::nullopt),
            wakeups ? Cell(WokenBy(call)) : Cell(std::monostate()),
            payload,
            std::string(quality),
            absl::StrFormat(
                "countrace view --at @%s --window %dns %s",
                base::FormatSeconds(call.begin_ns + call.wall_ns() / 2),
                call.wall_ns() + call.wall_ns() / 4 + 100, Quoted(trace_))};
  }

  const logformat::TraceInfo& info_;
  const rmap::Report& report_;
  const std::string trace_;
  const bool text_;
  std::unordered_map<std::uint32_t, const rmap::ThreadRow*> threads_;
};

}  // namespace

absl::StatusOr<ReportAnswer> ReportSlowest(const ReportRequest& request,
                                           std::uint64_t most,
                                           const std::string& segment,
                                           const std::string& format) {
  auto reader = request.input->Open(request.trace);
  if (!reader.ok()) return reader.status();
  const auto hooks = rmap::SegmentsNamed((*reader)->info(), segment);
  if (hooks.empty()) {
    return NoSuchSegment((*reader)->info(), segment, request.trace);
  }
  const auto range = ParseRange(request.range, ExtentOf(**reader));
  if (!range.ok()) {
    return AsUsage(absl::InvalidArgumentError(range.status().message()));
  }
  std::optional<rmap::where::RecordCondition> condition;
  if (!request.where.steps.empty()) {
    auto bound =
        rmap::where::RecordCondition::Bind(request.where, (*reader)->info());
    if (!bound.ok()) return AsUsage(bound.status());
    condition = *std::move(bound);
  }
  rmap::SlowestCalls slowest(most, hooks, {range->from_ns, range->to_ns},
                             condition ? &*condition : nullptr);
  rmap::NotedReader noted(**reader, slowest);
  ProgressBar progress("reading " + request.trace,
                       request.input->show_progress());
  const auto report = rmap::Reconstruct(noted, {.observer = &slowest,
                                                .gating = request.gating,
                                                .progress = progress.Callback(),
                                                .keep_interrupted = true});
  progress.Clear();
  if (!report.ok()) return report.status();
  const std::vector<SlowCall> calls = slowest.Take();
  // Their records have the values.
  auto again = request.input->Open(request.trace);
  if (!again.ok()) return again.status();
  SlowestTable table((*again)->info(), *report, request.trace,
                     format == "text");
  CallTexts texts((*again)->info(), calls, table.threads());
  if (const absl::Status read = (*again)->Read(texts, progress.Callback());
      !read.ok()) {
    return read;
  }
  progress.Clear();
  return AnswerOf(*report, table.Render(calls, texts, format));
}

}  // namespace countrace::cli
