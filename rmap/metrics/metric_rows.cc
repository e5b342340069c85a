#include "rmap/metrics/metric_rows.h"

namespace countrace::rmap::metrics {

std::vector<RowKey> KeysOf(const Report& report, Scope scope, std::size_t row) {
  switch (scope) {
    case Scope::kTrace:
      return {};
    case Scope::kProcess: {
      const ProcessRow& process = report.processes[row];
      return {{"pid", std::int64_t{process.pid}}, {"comm", process.comm}};
    }
    case Scope::kThread: {
      const ThreadRow& thread = report.threads[row];
      return {{"tid", std::int64_t{thread.tid}},
              {"pid", std::int64_t{thread.pid}},
              {"comm", thread.comm}};
    }
    case Scope::kSegment: {
      const SegmentRow& segment = report.segments[row];
      return {{"segment", segment.segment},
              {"pid", std::int64_t{segment.pid}},
              {"comm", segment.comm}};
    }
    case Scope::kPath: {
      const SegmentRow& segment = report.segment_paths[row];
      return {{"path", segment.path},
              {"pid", std::int64_t{segment.pid}},
              {"comm", segment.comm}};
    }
    case Scope::kCpu:
      return {{"cpu", std::int64_t{report.cpu_rows[row].cpu}}};
  }
  return {};
}

ReportBy TableOf(Scope scope) {
  switch (scope) {
    case Scope::kTrace:
      return ReportBy::kDefault;
    case Scope::kProcess:
      return ReportBy::kProcess;
    case Scope::kThread:
      return ReportBy::kThread;
    case Scope::kSegment:
      return ReportBy::kSegment;
    case Scope::kPath:
      return ReportBy::kPath;
    case Scope::kCpu:
      return ReportBy::kCpu;
  }
  return ReportBy::kDefault;
}

bool IsShown(const MetricReport& metrics, Scope scope) {
  return metrics.selection == nullptr || scope == Scope::kTrace ||
         metrics.selection->Of(TableOf(scope)).applies();
}

std::vector<std::size_t> ShownRows(const MetricReport& metrics, Scope scope) {
  std::vector<std::size_t> rows;
  if (!IsShown(metrics, scope)) return rows;
  const bool all = metrics.selection == nullptr || scope == Scope::kTrace;
  for (std::size_t row = 0; row < metrics.evaluator->RowCount(scope); ++row) {
    if (all || metrics.selection->Of(TableOf(scope)).rows[row]) {
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace countrace::rmap::metrics
