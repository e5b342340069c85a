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
  const RowsOf of = sources.rows.wakers_of;
  // Threads whose process became known late join its rows.
  struct Joined {
    RowOwner owner, waker;
    BlockedTime::Sum sum;
    std::map<std::uint32_t, BlockedTime::StackSum> stacks;
  };
  using Place = std::tuple<RowOwner::Key, const PathNode*, WakerKind,
                           RowOwner::Key, std::uint32_t>;
  std::map<Place, Joined> rows;
  struct Whole {
    BlockedOwner who;
    WakerUnseen unseen;
  };
  std::map<RowOwner::Key, Whole> wholes;
  // Paths are those of one process: those of several are the same by name.
  std::map<std::vector<std::string>, const PathNode*> named;
  const auto process_of = [](const BlockedTime::Key& key) {
    return key.process != nullptr ? key.process : key.thread->process;
  };
  const auto row_of = [&](const BlockedTime::Key& key) -> Joined& {
    const ProcessState* const waker =
        key.waker_process != nullptr  ? key.waker_process
        : key.waker_thread != nullptr ? key.waker_thread->process
                                      : nullptr;
    const RowOwner owner(of, *process_of(key), key.thread);
    const RowOwner by =
        waker == nullptr ? RowOwner() : RowOwner(of, *waker, key.waker_thread);
    const PathNode* place = key.place;
    if (of == RowsOf::kComm && place != nullptr) {
      place = named.emplace(PathOf(sources.info, place), place).first->second;
    }
    Joined& joined = rows[{owner.key, place, key.kind, by.key, key.hook_id}];
    joined.owner = owner;
    joined.waker = by;
    return joined;
  };
  for (const auto& [key, sum] : blocked.sums()) {
    const ProcessState* const process = process_of(key);
    Joined& joined = row_of(key);
    const RowOwner& owner = joined.owner;
    BlockedTime::Sum& total = joined.sum;
    total.times += sum.times;
    total.ns += sum.ns;
    total.longest_ns = std::max(total.longest_ns, sum.longest_ns);
    total.unsure_times += sum.unsure_times;
    total.unsure_ns += sum.unsure_ns;
    total.longest_sure_ns =
        std::max(total.longest_sure_ns, sum.longest_sure_ns);
    Whole& whole = wholes[owner.key];
    whole.who.processes.insert(process);
    if (of == RowsOf::kThread) whole.who.thread = key.thread;
    whole.unseen.times += sum.unsure_times;
    whole.unseen.ns += sum.unsure_ns;
  }
  for (const auto& [key, sum] : blocked.stacks()) {
    BlockedTime::StackSum& total = row_of(key.first).stacks[key.second];
    total.times += sum.times;
    total.ns += sum.ns;
  }
  for (const auto& [place, joined] : rows) {
    WakerRow row;
    row.process = joined.owner.process;
    row.pid = joined.owner.pid;
    row.tid = joined.owner.tid;
    row.comm = joined.owner.comm;
    row.path = PathOf(sources.info, std::get<const PathNode*>(place));
    row.waker.kind = std::get<WakerKind>(place);
    if (joined.waker.pid != 0) row.waker.pid = joined.waker.pid;
    if (joined.waker.tid != 0) row.waker.tid = joined.waker.tid;
    row.waker.comm = joined.waker.comm;
    const std::uint32_t hook_id = std::get<4>(place);
    if (hook_id != 0) row.waker.segment = HookName(sources.info, hook_id);
    const BlockedTime::Sum& sum = joined.sum;
    row.times = sum.times;
    row.blocked_ns = sum.ns;
    row.longest_ns = sum.longest_ns;
    for (const auto& [stack, part] : joined.stacks) {
      row.places.push_back({stack, {}, part.times, part.ns});
    }
    const Whole& whole = wholes[joined.owner.key];
    bounds.OfWaker(whole.who,
                   {sum.unsure_times, sum.unsure_ns, sum.longest_sure_ns},
                   whole.unseen, row);
    report.wakers.push_back(std::move(row));
  }
  std::sort(report.wakers.begin(), report.wakers.end(), RowLess);
}

}  // namespace countrace::rmap
