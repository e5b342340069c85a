#include "cli/report/report_slowest.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
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
#include "cli/hosts/host_traces.h"
#include "cli/program/progress_bar.h"
#include "cli/program/row_table.h"
#include "cli/report/call_texts.h"
#include "rmap/hosts/merged_report.h"
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

// As one word of a shell.
std::string Quoted(const std::string& path) {
  const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_./+:@%,=-").find(c) != std::string_view::npos;
  });
  return plain ? path : "'" + absl::StrReplaceAll(path, {{"'", "'\\''"}}) + "'";
}

// A call as a row; the slowest come first, and of two the earlier one.
struct SlowestRow {
  std::uint64_t wall_ns, begin_ns;  // on the clock of all hosts
  std::vector<Cell> cells;
};

std::vector<std::string> Columns(bool of_hosts, bool text) {
  std::vector<std::string> columns;
  if (of_hosts) columns = {"host", text ? "+-" : "within_ns"};
  columns.insert(
      columns.end(),
      {"segment", text ? "begin" : "begin_ns", "pid", "tid", "comm",
       text ? "wall" : "wall_ns", text ? "on-CPU" : "on_cpu_ns",
       text ? "wait" : "wait_ns", text ? "blocked" : "blocked_ns",
       text ? "woken by" : "woken_by", "payload", "quality", "view"});
  return columns;
}

// The rows of one trace.
class SlowestRows {
 public:
  // `clock`: of a host named `host`; null: there is one trace.
  SlowestRows(const logformat::TraceInfo& info, const rmap::Report& report,
              const std::string& path, const std::string& host,
              const rmap::HostClock* clock, bool text)
      : info_(info),
        report_(report),
        path_(path),
        host_(host),
        clock_(clock),
        text_(text) {
    for (const rmap::ThreadRow& row : report.threads) {
      threads_[static_cast<std::uint32_t>(row.index)] = &row;
    }
  }

  const auto& threads() const { return threads_; }

  SlowestRow Of(const SlowCall& call, const std::string& payload) const {
    SlowestRow row{call.wall_ns(), call.begin_ns, {}};
    if (clock_ != nullptr) {
      row.begin_ns = clock_->Common(call.begin_ns);
      row.cells = {host_, Time(clock_->WithinNs(call.begin_ns))};
    }
    const std::vector<Cell> cells = Cells(call, row.begin_ns, payload);
    row.cells.insert(row.cells.end(), cells.begin(), cells.end());
    return row;
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

  std::vector<Cell> Cells(const SlowCall& call, std::uint64_t begin_ns,
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
    Cell begin = begin_ns;
    if (text_) begin = "@" + base::FormatSeconds(begin_ns);
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
                call.wall_ns() + call.wall_ns() / 4 + 100, Quoted(path_))};
  }

  const logformat::TraceInfo& info_;
  const rmap::Report& report_;
  const std::string &path_, &host_;
  const rmap::HostClock* const clock_;
  const bool text_;
  CallTexts::Threads threads_;
};

// What is asked of each trace.
struct Question {
  const ReportRequest& request;
  std::uint64_t most;
  std::string segment;
  bool text;
};

// Adds the slowest calls of `traces.traces[at]` that begin in `range`, its own,
// to `rows`. Returns its report.
absl::StatusOr<rmap::Report> AddSlowest(const Question& question,
                                        const HostTraces& traces,
                                        std::size_t at,
                                        const rmap::TableRange& range,
                                        std::vector<SlowestRow>& rows) {
  const ReportRequest& request = question.request;
  logformat::TraceReader& reader = *traces.readers[at];
  const std::string& path =
      request.hosts.empty() ? request.trace : request.hosts[at].path;
  const auto hooks = rmap::SegmentsNamed(reader.info(), question.segment);
  std::optional<rmap::where::RecordCondition> condition;
  // A host without such calls need not have their values.
  if (!request.where.steps.empty() && !hooks.empty()) {
    auto bound =
        rmap::where::RecordCondition::Bind(request.where, reader.info());
    if (!bound.ok()) return AsUsage(bound.status());
    condition = *std::move(bound);
  }
  rmap::SlowestCalls slowest(question.most, hooks, range,
                             condition ? &*condition : nullptr);
  rmap::NotedReader noted(reader, slowest);
  ProgressBar progress("reading " + path, request.input->show_progress());
  auto report = rmap::Reconstruct(noted, {.observer = &slowest,
                                          .gating = request.gating,
                                          .progress = progress.Callback(),
                                          .keep_interrupted = true});
  progress.Clear();
  if (!report.ok()) return report;
  const std::vector<SlowCall> calls = slowest.Take();
  // Their records have the values.
  auto again = request.input->Open(path);
  if (!again.ok()) return again.status();
  const SlowestRows table(
      (*again)->info(), *report, path, traces.traces[at].name,
      traces.clocks.empty() ? nullptr : &traces.clocks[at], question.text);
  CallTexts texts((*again)->info(), calls, table.threads());
  const absl::Status read = (*again)->Read(texts, progress.Callback());
  progress.Clear();
  if (!read.ok()) return read;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    rows.push_back(table.Of(calls[i], texts.Of(calls[i], i)));
  }
  return report;
}

// The slowest of the rows of all traces.
std::string TableOf(const Question& question, const std::string& format,
                    bool of_hosts, std::vector<SlowestRow> rows) {
  std::ranges::stable_sort(rows, [](const SlowestRow& a, const SlowestRow& b) {
    return std::tuple(b.wall_ns, a.begin_ns) <
           std::tuple(a.wall_ns, b.begin_ns);
  });
  RowTable table("countrace.slowest/1", "calls",
                 Columns(of_hosts, question.text));
  for (SlowestRow& row : rows) {
    if (table.size() < question.most) table.Add(std::move(row.cells));
  }
  return table.Render(format);
}

}  // namespace

absl::StatusOr<ReportAnswer> ReportSlowest(const ReportRequest& request,
                                           std::uint64_t most,
                                           const std::string& segment,
                                           const std::string& format) {
  TraceOptions options;
  options.trace = request.trace;
  const auto traces =
      request.hosts.empty()
          ? OpenTraces(options, *request.input)
          : OpenHosts(request.hosts, request.pairs, *request.input);
  if (!traces.ok()) return traces.status();
  const bool has_segment =
      std::ranges::any_of(traces->readers, [&](const auto& reader) {
        return !rmap::SegmentsNamed(reader->info(), segment).empty();
      });
  if (!has_segment) {
    return NoSuchSegment(
        traces->readers[0]->info(), segment,
        request.hosts.empty() ? request.trace : request.hosts[0].path);
  }
  const auto range = ParseRange(request.range, ExtentOf(*traces));
  if (!range.ok()) {
    return AsUsage(absl::InvalidArgumentError(range.status().message()));
  }
  const Question question{request, most, segment, format == "text"};
  const bool of_hosts = !traces->clocks.empty();
  std::vector<SlowestRow> rows;
  std::vector<rmap::HostReport> parts;
  for (std::size_t i = 0; i < traces->readers.size(); ++i) {
    auto report =
        AddSlowest(question, *traces, i,
                   OwnRange(*traces, i, {range->from_ns, range->to_ns}), rows);
    if (!report.ok()) return report.status();
    parts.push_back({traces->traces[i].name,
                     of_hosts ? traces->clocks[i] : rmap::HostClock(""),
                     *std::move(report)});
  }
  const rmap::Report report = of_hosts ? rmap::MergeReports(std::move(parts))
                                       : std::move(parts[0].report);
  return AnswerOf(report, TableOf(question, format, of_hosts, std::move(rows)));
}

}  // namespace countrace::cli
