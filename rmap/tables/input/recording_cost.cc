#include "rmap/tables/input/recording_cost.h"

#include <algorithm>
#include <array>
#include <vector>

#include "logformat/packet_layout.h"

namespace countrace::rmap {
namespace {

// Rounded. A product exceeds 64 bits in a hostile trace only.
std::uint64_t Share(std::uint64_t all, std::uint64_t part,
                    std::uint64_t whole) {
  if (whole == 0) return 0;
  const auto share = static_cast<unsigned __int128>(all) * part / whole;
  return static_cast<std::uint64_t>(share);
}

bool IsUserHook(const PathNode& node) {
  return node.parent != nullptr && node.hook_id < logformat::kHookIdKernelMin;
}

std::uint64_t RecordsOf(const ProcessState& process) {
  std::uint64_t records = 0;
  for (const std::uint64_t hits : process.hits.hits) records += hits;
  return records;
}

}  // namespace

RecordingCost::RecordingCost(const logformat::TraceInfo& info,
                             ThreadRegistry& registry)
    : cpu_ps_(std::max(info.own_hook_cpu_ps, info.own_hook_ps)),
      record_ps_(info.own_hook_ps),
      counters_ps_(info.own_hook_dump_ps -
                   std::min(info.own_hook_dump_ps, info.own_hook_ps)) {
  if (record_ps_ == 0) return;
  for (const ProcessState& process : registry.processes()) {
    AddCalls(*process.paths);
  }
}

std::uint64_t RecordingCost::Nanoseconds(Records records,
                                         std::uint64_t record_ps) const {
  // 128 bits: a damaged trace can hold any value.
  const auto ps = static_cast<unsigned __int128>(records.all) * record_ps +
                  static_cast<unsigned __int128>(records.dumps) * counters_ps_;
  return static_cast<std::uint64_t>((ps + 500) / 1000);
}

std::optional<std::uint64_t> RecordingCost::OfProcess(
    const ProcessState& process) const {
  if (record_ps_ == 0) return std::nullopt;
  return Nanoseconds({RecordsOf(process), process.hits.dumps}, cpu_ps_);
}

// Each call adds one record to its own segment, since one of its two records
// lies inside, and two to each enclosing segment.
void RecordingCost::AddCalls(const PathNode& root) {
  std::vector<const PathNode*> pending = {&root};
  while (!pending.empty()) {
    const PathNode& node = *pending.back();
    pending.pop_back();
    for (const PathNode::Child& child : node.children) {
      pending.push_back(child.node);
    }
    if (!IsUserHook(node)) continue;
    Records& own = inside_[&node];
    own.all += node.calls;
    own.dumps += node.dumped_calls;
    for (const PathNode* around = node.parent; around->parent != nullptr;
         around = around->parent) {
      if (!IsUserHook(*around)) continue;
      Records& records = inside_[around];
      records.all += 2 * node.calls;
      records.dumps += 2 * node.dumped_calls;
    }
  }
}

std::optional<std::uint64_t> RecordingCost::InSegment(
    const PathNode& node) const {
  const auto found = inside_.find(&node);
  if (record_ps_ == 0 || found == inside_.end()) return std::nullopt;
  return Nanoseconds(found->second, record_ps_);
}

Recording RecordingCost::OfBooks(const logformat::TraceInfo& info,
                                 const DispatchTracker& dispatches,
                                 std::uint64_t hooks_ns, bool of_range) const {
  Recording recording;
  if (record_ps_ != 0) recording.hooks = hooks_ns;
  if (info.own_bpf_sampled_ns != 0 && !of_range) {
    recording.bpf = info.own_bpf_ns;
  }
  // The trace of a command omits records of other processes, so the split of
  // the programs' time by account is unknown.
  if (!recording.bpf || info.scope != logformat::SessionScope::kSystem) {
    return recording;
  }
  using Place = CpuState::RecordPlace;
  std::array<std::uint64_t, CpuState::kRecordPlaces> records{};
  std::uint64_t all = 0;
  for (const CpuState& cpu : dispatches.cpus()) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i] += cpu.records[i];
      all += cpu.records[i];
    }
  }
  if (all == 0) return recording;
  const auto share = [&](Place place) {
    return Share(*recording.bpf, records[static_cast<std::size_t>(place)], all);
  };
  recording.bpf_idle = share(Place::kIdle);
  recording.bpf_interrupts = share(Place::kInterrupts);
  recording.bpf_unattributed = share(Place::kUnattributed);
  // Also gets the rounding error.
  recording.bpf_processes = *recording.bpf - *recording.bpf_idle -
                            *recording.bpf_interrupts -
                            *recording.bpf_unattributed;
  return recording;
}

}  // namespace countrace::rmap
