#include "rmap/tables/waker_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/dispatch/blocked_time.h"

namespace countrace::rmap {
namespace {

std::vector<std::string> PathOf(const logformat::TraceInfo& info,
                                const PathNode* node) {
  std::vector<std::string> path;
  for (; node != nullptr && node->parent != nullptr; node = node->parent) {
    path.push_back(HookName(info, node->hook_id));
  }
  std::reverse(path.begin(), path.end());
  return path;
}

bool RowLess(const WakerRow& a, const WakerRow& b) {
  return std::tie(b.blocked_ns, b.times, a.comm, a.pid, a.process, a.path,
                  a.waker.kind, a.waker.comm, a.waker.pid, a.waker.segment) <
         std::tie(a.blocked_ns, a.times, b.comm, b.pid, b.process, b.path,
                  b.waker.kind, b.waker.comm, b.waker.pid, b.waker.segment);
}

}  // namespace

std::string HookName(const logformat::TraceInfo& info, std::uint32_t hook_id) {
  if (hook_id == PathNode::kFolded) return "[other paths]";
  const logformat::HookInfo* hook = info.FindHook(hook_id);
  if (hook == nullptr) return absl::StrFormat("hook:%d", hook_id);
  return hook->FullName();
}

void BuildWakers(const TableSources& sources, const UnseenBounds& bounds,
                 Report& report) {
  const BlockedTime& blocked = sources.dispatches.blocked();
  report.wakeups = blocked.saw_wakeup();
  if (!report.wakeups) return;
  // Threads whose process became known late join its rows.
  struct Joined {
    const ProcessState* process;
    const ProcessState* waker;
  };
  using Place = std::tuple<std::uint32_t, const PathNode*, WakerKind,
                           std::uint32_t, std::uint32_t>;
  std::map<Place, std::pair<Joined, BlockedTime::Sum>> rows;
  std::map<const ProcessState*, WakerUnseen> unseen;
  for (const auto& [key, sum] : blocked.sums()) {
    const ProcessState* const process =
        key.process != nullptr ? key.process : key.thread->process;
    const ProcessState* const waker =
        key.waker_process != nullptr  ? key.waker_process
        : key.waker_thread != nullptr ? key.waker_thread->process
                                      : nullptr;
    auto& [joined, total] =
        rows[{static_cast<std::uint32_t>(process->index), key.place, key.kind,
              waker == nullptr ? ~std::uint32_t{0}
                               : static_cast<std::uint32_t>(waker->index),
              key.hook_id}];
    joined = {process, waker};
    total.times += sum.times;
    total.ns += sum.ns;
    total.longest_ns = std::max(total.longest_ns, sum.longest_ns);
    total.unsure_times += sum.unsure_times;
    total.unsure_ns += sum.unsure_ns;
    total.longest_sure_ns =
        std::max(total.longest_sure_ns, sum.longest_sure_ns);
    unseen[process].times += sum.unsure_times;
    unseen[process].ns += sum.unsure_ns;
  }
  for (const auto& [place, found] : rows) {
    const auto& [joined, sum] = found;
    WakerRow row;
    row.process = joined.process->index;
    row.pid = joined.process->pid;
    row.comm = joined.process->comm;
    row.path = PathOf(sources.info, std::get<const PathNode*>(place));
    row.waker.kind = std::get<WakerKind>(place);
    if (joined.waker != nullptr) {
      row.waker.pid = joined.waker->pid;
      row.waker.comm = joined.waker->comm;
    }
    const std::uint32_t hook_id = std::get<4>(place);
    if (hook_id != 0) row.waker.segment = HookName(sources.info, hook_id);
    row.times = sum.times;
    row.blocked_ns = sum.ns;
    row.longest_ns = sum.longest_ns;
    bounds.OfWaker(*joined.process,
                   {sum.unsure_times, sum.unsure_ns, sum.longest_sure_ns},
                   unseen[joined.process], row);
    report.wakers.push_back(std::move(row));
  }
  std::sort(report.wakers.begin(), report.wakers.end(), RowLess);
}

}  // namespace countrace::rmap
