// Reports and rules of a few lines, for tests of metrics.
#ifndef COUNTRACE_TESTS_RMAP_METRICS_METRIC_FIXTURE_H_
#define COUNTRACE_TESTS_RMAP_METRICS_METRIC_FIXTURE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rmap/metrics/evaluator.h"
#include "rmap/metrics/rule_file.h"
#include "rmap/metrics/rule_set.h"
#include "rmap/result/tables.h"

namespace countrace::test_support {

using EventCounts = std::vector<std::pair<std::string, std::uint64_t>>;

// One process and one thread with these counts, the books of a trace without
// losses, and one CPU.
inline rmap::Report ReportOf(const EventCounts& counts) {
  rmap::Report report;
  report.end_ns = 1'000'000'000;
  report.cpus = 1;
  rmap::ProcessRow process;
  process.index = rmap::ProcessIndex{0};
  process.pid = 7;
  process.comm = "work";
  process.threads = 1;
  process.on_cpu_ns = 500'000'000;
  process.dispatches = 10;
  rmap::ThreadRow thread;
  thread.process = process.index;
  thread.tid = thread.pid = 7;
  thread.comm = "work";
  thread.on_cpu_ns = process.on_cpu_ns;
  thread.dispatches = 10;
  thread.migrations = 2;
  thread.wait_ns = 125'000'000;
  for (const auto& [event, count] : counts) {
    report.events.push_back({.name = event});
    process.counts.emplace_back(count);
    thread.counts.emplace_back(count);
    rmap::Books books;
    books.total = books.processes = count;
    report.books.push_back(books);
  }
  report.processes.push_back(std::move(process));
  report.threads.push_back(std::move(thread));
  return report;
}

// The message; "" if the status is OK.
inline std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

inline std::string ErrorOf(const std::string& rule,
                           const std::vector<std::string>& events = {}) {
  rmap::metrics::RuleSet rules;
  absl::Status status = rmap::metrics::AddCommandLineRule(rule, rules);
  if (status.ok()) status = rules.Check(events);
  return MessageOf(status);
}

// "message" and the rest of "FILE:L:C: message", for a file with this text.
inline std::string FileErrorOf(const std::string& text) {
  rmap::metrics::RuleSet rules;
  absl::Status status = rmap::metrics::AddRules(text, "my.toml", rules);
  if (status.ok()) status = rules.Check({});
  return MessageOf(status);
}

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_METRICS_METRIC_FIXTURE_H_
