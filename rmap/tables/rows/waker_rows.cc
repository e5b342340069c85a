#include "rmap/tables/rows/waker_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/dispatch/blocked_time.h"
#include "rmap/tables/input/row_owner.h"

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
  return std::tie(b.blocked_ns, b.times, a.comm, a.pid, a.process, a.tid,
                  a.path, a.waker.kind, a.waker.comm, a.waker.pid, a.waker.tid,
                  a.waker.segment) <
         std::tie(a.blocked_ns, a.times, b.comm, b.pid, b.process, b.tid,
                  b.path, b.waker.kind, b.waker.comm, b.waker.pid, b.waker.tid,
                  b.waker.segment);
}

// Sums of blocked time by who blocked, where, and what ended it.
class WakerSums {
 public:
  explicit WakerSums(const TableSources& sources)
      : sources_(sources), of_(sources.rows.wakers_of) {}

  void Add(const BlockedTime::Key& key, const BlockedTime::Sum& sum) {
    Joined& joined = JoinedOf(key);
    BlockedTime::Sum& total = joined.sum;
    total.times += sum.times;
    total.ns += sum.ns;
    total.longest_ns = std::max(total.longest_ns, sum.longest_ns);
    BlockedOwner& owner = owners_[joined.owner.key];
    owner.processes.insert(ProcessOf(key));
    if (of_ == RowsOf::kThread) owner.thread = key.thread;
    owner.unsure_times += sum.unsure_times;
    owner.unsure_ns += sum.unsure_ns;
  }

  void AddStack(const BlockedTime::Key& key, std::uint32_t stack,
                const BlockedTime::StackSum& sum) {
    BlockedTime::StackSum& total = JoinedOf(key).stacks[stack];
    total.times += sum.times;
    total.ns += sum.ns;
  }

  std::vector<WakerRow> Rows(const UnseenBounds& bounds) {
    std::vector<WakerRow> rows;
    for (const auto& [place, joined] : joined_) {
      WakerRow row = RowOf(place, joined);
      bounds.OfWaker(owners_[joined.owner.key], row);
      rows.push_back(std::move(row));
    }
    std::sort(rows.begin(), rows.end(), RowLess);
    return rows;
  }

 private:
  // Threads whose process became known late join its rows.
  struct Joined {
    RowOwner owner, waker;
    BlockedTime::Sum sum;
    std::map<std::uint32_t, BlockedTime::StackSum> stacks;
  };
  using Place = std::tuple<RowOwner::Key, const PathNode*, WakerKind,
                           RowOwner::Key, std::uint32_t>;

  static const ProcessState* ProcessOf(const BlockedTime::Key& key) {
    return key.process != nullptr ? key.process : key.thread->process;
  }

  Joined& JoinedOf(const BlockedTime::Key& key) {
    const ProcessState* const waker =
        key.waker_process != nullptr  ? key.waker_process
        : key.waker_thread != nullptr ? key.waker_thread->process
                                      : nullptr;
    const RowOwner owner(of_, *ProcessOf(key), key.thread);
    const RowOwner by =
        waker == nullptr ? RowOwner() : RowOwner(of_, *waker, key.waker_thread);
    Joined& joined =
        joined_[{owner.key, key.place, key.kind, by.key, key.hook_id}];
    joined.owner = owner;
    joined.waker = by;
    return joined;
  }

  WakerRow RowOf(const Place& place, const Joined& joined) const {
    WakerRow row;
    row.process = joined.owner.process;
    row.pid = joined.owner.pid;
    row.tid = joined.owner.tid;
    row.comm = joined.owner.comm;
    row.path = PathOf(sources_.info, std::get<const PathNode*>(place));
    row.waker.kind = std::get<WakerKind>(place);
    if (joined.waker.pid != 0) row.waker.pid = joined.waker.pid;
    if (joined.waker.tid != 0) row.waker.tid = joined.waker.tid;
    row.waker.comm = joined.waker.comm;
    const std::uint32_t hook_id = std::get<4>(place);
    if (hook_id != 0) row.waker.segment = HookName(sources_.info, hook_id);
    row.times = joined.sum.times;
    row.blocked_ns = joined.sum.ns;
    row.longest_ns = joined.sum.longest_ns;
    for (const auto& [stack, part] : joined.stacks) {
      row.places.push_back({stack, {}, part.times, part.ns});
    }
    return row;
  }

  const TableSources& sources_;
  const RowsOf of_;
  std::map<Place, Joined> joined_;
  std::map<RowOwner::Key, BlockedOwner> owners_;
};

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
  report.throttled = sources.dispatches.saw_throttled();
  if (!report.wakeups) return;
  WakerSums sums(sources);
  for (const auto& [key, sum] : blocked.sums()) sums.Add(key, sum);
  for (const auto& [key, sum] : blocked.stacks()) {
    sums.AddStack(key.first, key.second, sum);
  }
  report.wakers = sums.Rows(bounds);
}

}  // namespace countrace::rmap
