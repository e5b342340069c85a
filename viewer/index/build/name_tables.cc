#include "viewer/index/build/name_tables.h"

#include <algorithm>
#include <cstddef>

namespace countrace::viewer {
namespace {

std::uint32_t Listed(rmap::Quality quality) {
  return 1 + static_cast<std::uint32_t>(quality);
}

}  // namespace

NameTables NumberNames(const rmap::Report& report,
                       const logformat::TraceInfo& info, const TraceSpan& span,
                       StringPool& strings) {
  NameTables tables;
  auto& [processes, threads, hooks, thread_order] = tables;
  for (const rmap::ProcessRow& row : report.processes) {
    const auto number = static_cast<std::size_t>(row.index);
    if (number >= processes.size()) processes.resize(number + 1);
    processes[number] = {.pid = row.pid,
                         .parent_pid = row.parent_pid,
                         .comm = strings.Add(row.comm),
                         .on_cpu_ns = row.on_cpu_ns.value_or(kUnknownTime),
                         .in_scope = row.in_scope ? 1u : 0u,
                         .listed = Listed(row.quality),
                         .unsure = 0,
                         .reserved = 0};
  }
  thread_order.assign(report.threads.size(), 0);
  for (const rmap::ThreadRow& row : report.threads) {
    const auto number = static_cast<std::size_t>(row.index);
    if (number >= threads.size()) {
      ThreadEntry unlisted{};
      unlisted.process = kNoKey;
      threads.resize(number + 1, unlisted);
      thread_order.resize(number + 1, kNoKey);
    }
    threads[number] = {.tid = row.tid,
                       .pid = row.pid,
                       .process = static_cast<std::uint32_t>(row.process),
                       .listed = Listed(row.quality),
                       .comm = strings.Add(row.comm),
                       .on_cpu_ns = row.on_cpu_ns.value_or(kUnknownTime),
                       .first_seen_ns = span.Relative(row.first_seen_ns),
                       .last_seen_ns = span.Relative(row.last_seen_ns),
                       .unsure = 0,
                       .reserved = 0};
    thread_order[number] =
        static_cast<std::uint32_t>(&row - report.threads.data());
  }
  for (const logformat::HookInfo& hook : info.hooks) {
    hooks.push_back({.id = hook.id,
                     .kind = static_cast<std::uint16_t>(hook.kind),
                     .origin = static_cast<std::uint16_t>(hook.origin),
                     .name = strings.Add(hook.FullName()),
                     .location = strings.Add(hook.location)});
  }
  std::sort(hooks.begin(), hooks.end(),
            [](const HookEntry& a, const HookEntry& b) { return a.id < b.id; });
  return tables;
}

}  // namespace countrace::viewer
