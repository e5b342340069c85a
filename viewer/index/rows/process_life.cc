#include "viewer/index/rows/process_life.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "logformat/packet_layout.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {
namespace {

// When the thread of a run row ended. Absent: its last dispatch was not the
// end.
std::optional<std::uint64_t> EndOf(const TimelineIndex& index,
                                   std::uint32_t row) {
  const IntervalRow dispatches(index, row);
  if (dispatches.size() == 0) return std::nullopt;
  const IntervalLeaf& last = dispatches.leaf(dispatches.size() - 1);
  const auto state =
      static_cast<std::uint16_t>(last.flags >> kLeafEndStateShift);
  if ((state & logformat::kSwitchDead) == 0) return std::nullopt;
  return last.end_ns;
}

void FindParents(const TimelineIndex& index, std::vector<ProcessLife>& lives) {
  std::multimap<std::int32_t, std::uint32_t> by_pid;
  for (std::uint32_t i = 0; i < lives.size(); ++i) {
    if (index.processes()[i].listed != 0) {
      by_pid.emplace(index.processes()[i].pid, i);
    }
  }
  const auto first_ns = [&](std::uint32_t process) {
    return lives[process].first_ns.value_or(0);
  };
  for (std::uint32_t child = 0; child < lives.size(); ++child) {
    std::optional<std::uint32_t>& parent = lives[child].parent;
    const auto [begin, end] =
        by_pid.equal_range(index.processes()[child].parent_pid);
    for (auto other = begin; other != end; ++other) {
      if (other->second == child || first_ns(other->second) > first_ns(child)) {
        continue;
      }
      if (!parent || first_ns(other->second) >= first_ns(*parent)) {
        parent = other->second;
      }
    }
  }
}

}  // namespace

std::vector<ProcessLife> ProcessLives(const TimelineIndex& index) {
  std::vector<ProcessLife> lives(index.processes().size());
  std::vector<std::optional<std::uint64_t>> ends(index.threads().size());
  for (std::uint32_t row = 0; row < index.rows().size(); ++row) {
    const RowEntry& entry = index.rows()[row];
    if (entry.kind != RowKind::kThreadRun || entry.owner >= ends.size()) {
      continue;
    }
    ends[entry.owner] = EndOf(index, row);
  }
  std::vector<bool> lasting(lives.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const ThreadEntry& thread = index.threads()[i];
    if (thread.listed == 0 || thread.process >= lives.size()) continue;
    ProcessLife& life = lives[thread.process];
    life.first_ns = std::min(life.first_ns.value_or(thread.first_seen_ns),
                             thread.first_seen_ns);
    if (ends[i]) {
      life.ended_ns = std::max(life.ended_ns.value_or(0), *ends[i]);
    } else {
      lasting[thread.process] = true;
    }
  }
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (lasting[i]) lives[i].ended_ns.reset();
  }
  FindParents(index, lives);
  return lives;
}

std::vector<std::uint32_t> AncestorsOf(const std::vector<ProcessLife>& lives,
                                       std::uint32_t process) {
  std::vector<std::uint32_t> ancestors;
  // Two processes seen at one instant could be each other's parent.
  std::set<std::uint32_t> way = {process};
  for (auto up = lives[process].parent; up && way.insert(*up).second;
       up = lives[*up].parent) {
    ancestors.push_back(*up);
  }
  return ancestors;
}

}  // namespace countrace::viewer
