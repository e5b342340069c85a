#include "tests/rmap/report_lines.h"

#include <optional>
#include <sstream>

namespace countrace::test_support {

using namespace rmap;  // NOLINT(google-build-using-namespace)

namespace {

std::string Or(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : "?";
}
std::string Pair(const std::optional<InclusiveExclusive>& pair) {
  if (!pair) return "?";
  return std::to_string(pair->incl) + "/" + std::to_string(pair->excl);
}
void AppendCounts(const Report& report, const Counts& counts,
                  std::ostream& out) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out << " " << report.events[i].name << "=" << Or(counts[i]);
  }
}
// Estimates; few traces have any.
std::string Part(const char* name, const std::optional<std::uint64_t>& value) {
  if (!value) return "";
  return std::string(" ") + name + "=" + std::to_string(*value);
}
template <typename MaybeTime>
std::string ProbesOf(const MaybeTime& probes) {
  if (!probes) return "";
  return " probes=" + std::to_string(probes->ns) + "(" +
         std::to_string(probes->lo_ns) + ".." + std::to_string(probes->hi_ns) +
         ")";
}
std::string RecordingOf(const Recording& recording) {
  return Part("recording-hooks", recording.hooks) +
         Part("recording-bpf", recording.bpf) + ProbesOf(recording.probes) +
         Part("of-processes", recording.processes()) +
         Part("of-idle", recording.bpf_idle) +
         Part("of-interrupts", recording.bpf_interrupts) +
         Part("of-unattributed", recording.bpf_unattributed);
}
// Why numbers of a row are not exact, and the intervals of those that may be
// others: "  bounded: on_cpu_ns=200..350 dispatches=2.." (no upper bound).
template <typename Row>
void AppendBounds(const Report& report, const Row& row, std::ostream& out) {
  if (!row.qualities.any() && row.bounds.empty()) return;
  std::string names;
  for (const std::string& name : row.qualities.Names()) {
    names += (names.empty() ? "" : ",") + name;
  }
  out << "  " << names << ":";
  for (const auto& [number, bounds] : row.bounds.entries()) {
    out << " " << NumberName(report.events, number) << "=" << bounds.lo << "..";
    if (bounds.hi != Bounds::kNone) out << bounds.hi;
  }
  out << "\n";
}
void AppendSegment(const Report& report, const SegmentRow& row,
                   std::ostream& out) {
  out << " pid=" << row.pid << " calls=" << row.calls;
  if (row.begin_inferred != 0) out << " begin-inferred=" << row.begin_inferred;
  if (row.end_inferred != 0) out << " end-inferred=" << row.end_inferred;
  out << " wall=" << row.wall.incl << "/" << row.wall.excl
      << " on-cpu=" << Pair(row.on_cpu) << " off-cpu=" << Pair(row.off_cpu);
  for (std::size_t i = 0; i < row.counts.size(); ++i) {
    out << " " << report.events[i].name << "=";
    if (row.counts[i]) {
      out << row.counts[i]->incl << "/" << row.counts[i]->excl;
      if (row.counts[i]->quality != Quality::kExact) {
        out << "(" << QualityName(row.counts[i]->quality) << ")";
      }
    } else {
      out << "?";
    }
  }
  if (row.blocked) {
    out << " wait=" << Pair(row.wait) << " blocked=" << Pair(row.blocked);
  }
  out << Part("recording", row.recording_ns) << ProbesOf(row.probes) << " "
      << QualityName(row.quality);
  if (row.on_cpu) out << "/" << QualityName(row.on_cpu_quality);
  out << "\n";
  AppendBounds(report, row, out);
}

void ShowTrace(const Report& report, std::ostream& out) {
  out << "trace " << report.begin_ns << ".." << report.end_ns
      << " records=" << report.records;
  if (report.own_cost.hook_records != 0) {
    out << " hook-records=" << report.own_cost.hook_records
        << " dumps=" << report.own_cost.hook_dumps;
  }
  if (report.hidden_switches != 0) {
    out << " hidden-switches=" << report.hidden_switches;
  }
  if (report.count != "all") out << " count=" << report.count;
  out << "\n";
}
void ShowProcesses(const Report& report, std::ostream& out) {
  for (const ProcessRow& row : report.processes) {
    out << "process " << row.pid << " '" << row.comm << "' "
        << row.first_seen_ns << ".." << row.last_seen_ns
        << " parent=" << row.parent_pid << " threads=" << row.threads
        << " on-cpu=" << Or(row.on_cpu_ns) << " dispatches=" << row.dispatches;
    AppendCounts(report, row.counts, out);
    out << Part("recording", row.recording_ns) << ProbesOf(row.probes) << " "
        << QualityName(row.quality) << "\n";
    AppendBounds(report, row, out);
  }
}
void ShowThreads(const Report& report, std::ostream& out) {
  for (const ThreadRow& row : report.threads) {
    out << "thread " << row.pid << "/" << row.tid << " '" << row.comm << "' "
        << row.first_seen_ns << ".." << row.last_seen_ns
        << " on-cpu=" << Or(row.on_cpu_ns) << " dispatches=" << row.dispatches
        << " migrations=" << row.migrations << " wait=" << Or(row.wait_ns)
        << Part("throttled", row.throttled_ns)
        << Part("blocked", row.blocked_ns);
    AppendCounts(report, row.counts, out);
    out << "\n";
    AppendBounds(report, row, out);
  }
}
void ShowSegments(const Report& report, std::ostream& out) {
  for (const SegmentRow& row : report.segments) {
    out << "segment " << row.segment;
    AppendSegment(report, row, out);
  }
}
void ShowPaths(const Report& report, std::ostream& out) {
  for (const SegmentRow& row : report.segment_paths) {
    out << "path ";
    for (const std::string& name : row.path) {
      out << (&name == row.path.data() ? "" : ">") << name;
    }
    AppendSegment(report, row, out);
  }
}
void ShowWakers(const Report& report, std::ostream& out) {
  for (const WakerRow& row : report.wakers) {
    out << "blocked " << row.pid << " in '";
    for (const std::string& name : row.path) {
      out << (&name == row.path.data() ? "" : ">") << name;
    }
    out << "' by " << WakerKindName(row.waker.kind);
    if (row.waker.pid) out << " " << *row.waker.pid << " '" << row.waker.comm;
    if (row.waker.pid) out << "'";
    if (!row.waker.segment.empty()) out << " in " << row.waker.segment;
    out << " times=" << row.times << " ns=" << row.blocked_ns
        << " longest=" << row.longest_ns << " " << QualityName(row.quality)
        << "\n";
    AppendBounds(report, row, out);
  }
}
void ShowHooks(const Report& report, std::ostream& out) {
  for (const HookRow& row : report.hooks) {
    out << "hook " << row.hook << " pid=" << row.pid << " hits=" << row.hits
        << "\n";
  }
}
void ShowCpus(const Report& report, std::ostream& out) {
  for (const CpuRow& row : report.cpu_rows) {
    out << "cpu " << row.cpu << " wall=" << row.wall_ns
        << " busy=" << row.busy_ns << " idle=" << row.idle_ns
        << (row.interrupts_ns != 0
                ? " interrupts=" + std::to_string(row.interrupts_ns)
                : "")
        << " outside=" << row.outside_ns
        << " unattributed=" << row.unattributed_ns
        << " dispatches=" << row.dispatches << "\n";
    AppendBounds(report, row, out);
  }
}
void ShowBooks(const Report& report, std::ostream& out) {
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    const Books& books = report.books[i];
    out << "books " << report.events[i].name << " total=" << books.total
        << " processes=" << books.processes
        << (books.own != 0 ? " own=" + std::to_string(books.own) : "")
        << " in-segments=" << Or(books.in_segments) << " idle=" << books.idle
        << (books.interrupts != 0
                ? " interrupts=" + std::to_string(books.interrupts)
                : "")
        << " outside=" << books.outside
        << " unattributed=" << books.unattributed
        << " residual=" << books.residual << RecordingOf(books.recording)
        << "\n";
  }
}
void ShowLoss(const Report& report, std::ostream& out) {
  out << "loss events=" << report.loss.discarded_events
      << " packets=" << report.loss.discarded_packets
      << " clock=" << report.loss.clock_errors;
  for (const auto& [cause, records] : report.loss.by_cause) {
    out << " " << cause << "=" << records;
  }
  out << "\n";
  for (const std::string& message : report.loss.messages) {
    out << "message " << message << "\n";
  }
}

template <typename ShowTable>
std::string Lines(const Report& report, const ShowTable& show) {
  std::ostringstream out;
  show(report, out);
  return out.str();
}

}  // namespace

std::vector<TableLines> ShowTables(const Report& report) {
  return {
      {"trace", Lines(report, ShowTrace)},
      {"processes", Lines(report, ShowProcesses)},
      {"threads", Lines(report, ShowThreads)},
      {"segments", Lines(report, ShowSegments)},
      {"paths", Lines(report, ShowPaths)},
      {"wakers", Lines(report, ShowWakers)},
      {"hooks", Lines(report, ShowHooks)},
      {"cpus", Lines(report, ShowCpus)},
      {"books", Lines(report, ShowBooks)},
      {"loss", Lines(report, ShowLoss)},
  };
}

std::string Show(const Report& report) {
  std::string lines;
  for (const TableLines& table : ShowTables(report)) lines += table.lines;
  return lines;
}

std::uint32_t Checksum(std::uint32_t before, std::string_view text) {
  for (const char c : text) {
    before = (before ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return before;
}

}  // namespace countrace::test_support
