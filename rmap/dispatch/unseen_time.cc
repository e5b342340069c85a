#include "rmap/dispatch/unseen_time.h"

#include <algorithm>

namespace countrace::rmap {

void UnseenTime::Advance(std::uint64_t time_ns) {
  clocks_ = At(time_ns);
  since_ns_ = std::max(since_ns_, time_ns);
  any_ = true;
}

UnseenTime::Clocks UnseenTime::At(std::uint64_t time_ns) const {
  Clocks clocks = clocks_;
  const std::uint64_t ns = time_ns - std::min(time_ns, since_ns_);
  if (lossy_cpus_ != 0) clocks.lost_ns += ns;
  clocks.lost_cpu_ns += ns * lossy_cpus_;
  clocks.outside_ns += ns * outside_cpus_;
  return clocks;
}

void UnseenTime::BeginLoss(std::uint64_t begin_ns, std::uint64_t now_ns) {
  Advance(std::max(begin_ns, now_ns));
  // Clocks do not go back: a loss that is noticed late began before, also for a
  // thread that was seen meanwhile, and while other CPUs lost records.
  clocks_.lost_ns += since_ns_ - begin_ns;
  clocks_.lost_cpu_ns += since_ns_ - begin_ns;
  ++lossy_cpus_;
  for (auto at = begins_.rbegin(); at != begins_.rend() && *at > begin_ns; ++at)
    *at = begin_ns;
  if (begins_.size() < kMaxEntries) begins_.push_back(begin_ns);
}

void UnseenTime::EndLoss(std::uint64_t end_ns) {
  Advance(end_ns);
  --lossy_cpus_;
}

void UnseenTime::Hide(std::uint64_t begin_ns, std::uint64_t end_ns,
                      bool visited) {
  any_ = true;
  clocks_.hidden_ns += end_ns - begin_ns;
  if (!visited || visited_.size() >= kMaxEntries) return;
  if (!visited_.empty()) end_ns = std::max(end_ns, visited_.back());
  visited_.push_back(end_ns);
  longest_visited_ns_ = std::max(longest_visited_ns_, end_ns - begin_ns);
}

std::uint64_t UnseenTime::VisitSince(std::uint64_t time_ns) const {
  if (visited_.size() >= kMaxEntries) return time_ns;
  const auto first =
      std::upper_bound(visited_.begin(), visited_.end(), time_ns);
  if (first == visited_.end()) return UINT64_MAX;
  // Those that ended later did not begin before it.
  return std::max(time_ns, Less(*first, longest_visited_ns_));
}

void UnseenTime::HideUnended(ThreadState& thread, std::uint64_t ns) {
  any_ = true;
  unended_ns_ += ns;
  thread.unseen.hidden_ns += ns;
}

void UnseenTime::SetOutside(std::uint64_t time_ns, std::uint32_t cpus) {
  if (cpus == outside_cpus_) return;
  Advance(time_ns);
  outside_cpus_ = cpus;
}

void UnseenTime::AddCounts(std::span<const std::uint64_t> counts) {
  any_ = true;
  for (std::size_t i = 0; i < amounts_; ++i) {
    if (counts[i] == Bounds::kNone) {
      ++totals_[i].unbounded;
    } else {
      totals_[i].count += counts[i];
    }
  }
  // Beyond the limit the last entry stays as it is: later differences get
  // larger, never smaller.
  if (sums_.size() < std::min(kMaxEntries, kMaxAmounts / amounts_)) {
    sums_.push_back(totals_);
  }
}

void UnseenTime::Leave(ThreadState& thread, std::uint64_t time_ns) const {
  UnseenState& unseen = thread.unseen;
  unseen.known_ns = time_ns;
  unseen.left_unseen = false;
  if (!any_) return;
  const Clocks now = At(time_ns);
  unseen.lost_at_ns = now.lost_ns;
  unseen.hidden_at_ns = now.hidden_ns;
  unseen.outside_at_ns = now.outside_ns;
  unseen.losses_begun = static_cast<std::uint32_t>(begins_.size());
  unseen.counts_known = static_cast<std::uint32_t>(sums_.size() - 1);
  unseen.in_loss = lossy_cpus_ != 0;
}

void UnseenTime::See(ThreadState& thread, std::uint64_t time_ns) {
  UnseenState& unseen = thread.unseen;
  unseen.latest_ns = 0;
  if (!any_ || thread.dispatch.running_cpu >= 0) return;
  const std::uint64_t left_ns =
      unseen.left_unseen ? time_ns - std::min(time_ns, unseen.known_ns) : 0;
  const Clocks now = At(time_ns);
  // The occupant of a CPU can be named late: it was there before it was seen.
  // Its own sums take that back; its calls, which may have ended, keep it.
  const std::uint64_t lost_ns = Less(now.lost_ns, unseen.lost_at_ns);
  const std::uint64_t hidden_ns = now.hidden_ns - unseen.hidden_at_ns;
  // Only a thread that no fork record announced.
  const std::uint64_t outside_ns =
      thread.begin_known ? 0 : Less(now.outside_ns, unseen.outside_at_ns);
  if (!thread.begin_known) {
    unseen.outside_ns =
        Less(unseen.outside_ns + now.outside_ns, unseen.outside_at_ns);
  }
  const bool lost = unseen.in_loss || unseen.losses_begun < begins_.size();
  if (lost || (hidden_ns | left_ns) != 0) {
    std::uint64_t since_ns = unseen.known_ns;
    if (!unseen.in_loss && unseen.losses_begun < begins_.size()) {
      since_ns = std::max(since_ns, begins_[unseen.losses_begun]);
    }
    since_ns = std::max(since_ns, range_begin_ns_);
    unseen.lost_ns = Less(unseen.lost_ns + now.lost_ns, unseen.lost_at_ns);
    unseen.hidden_ns += hidden_ns;
    unseen.latest_ns = hidden_ns;
    if (lost) {
      unseen.latest_ns += time_ns - std::min(time_ns, since_ns);
      DoubtStack(thread, since_ns);
    }
    unseen.latest_ns = std::max(unseen.latest_ns, left_ns);
    const std::uint64_t visit_ns =
        hidden_ns == 0 ? UINT64_MAX : VisitSince(unseen.known_ns);
    unseen.latest_ns =
        std::max(unseen.latest_ns, time_ns - std::min(time_ns, visit_ns));
    unseen.unknown_ns += unseen.latest_ns;
  }
  if ((unseen.latest_ns | lost_ns | outside_ns) != 0) {
    for (const Frame& frame : thread.stack.frames) {
      UnseenSums& sums = frame.node->unseen.Write();
      sums.on_cpu_ns += lost_ns + outside_ns;
      sums.state_ns += unseen.latest_ns;
    }
  }
  AddCountsTo(unseen);
  thread.dispatch.lost_on_cpu = false;
  const std::uint64_t known_ns = unseen.known_ns;
  Leave(thread, time_ns);
  // The first of several records of a run counts, or all of them.
  if (!lost && (hidden_ns | left_ns | outside_ns) == 0)
    unseen.known_ns = known_ns;
}

void UnseenTime::DoubtStack(ThreadState& thread, std::uint64_t since_ns) const {
  const DispatchState& dispatch = thread.dispatch;
  if (!kernel_segments_ || thread.unseen.stack_since_ns != UnseenState::kNever)
    return;
  std::uint64_t on_cpu_ns = dispatch.on_cpu_ns + dispatch.unbooked_ns;
  if (dispatch.running_cpu >= 0 && !dispatch.interrupted) {
    on_cpu_ns += since_ns - std::min(since_ns, dispatch.switch_in_ns);
  }
  thread.DoubtStack(since_ns, on_cpu_ns, dispatch.lost_on_cpu);
}

void UnseenTime::BeginRange(std::uint64_t time_ns) {
  range_begin_ns_ = time_ns;
  if (!any_) return;
  Advance(time_ns);
  clocks_ = Clocks();
  unended_ns_ = 0;
}

void UnseenTime::ForgetSums(ThreadState& thread) const {
  UnseenState& unseen = thread.unseen;
  unseen.lost_at_ns = unseen.hidden_at_ns = unseen.outside_at_ns = 0;
  unseen.counts_known = static_cast<std::uint32_t>(sums_.size() - 1);
  unseen.lost_ns = unseen.hidden_ns = unseen.outside_ns = 0;
  unseen.unknown_ns = unseen.late_ns = unseen.latest_ns = 0;
  unseen.counts.clear();
  if (unseen.stack_since_ns == UnseenState::kNever) return;
  unseen.stack_since_ns = std::max(unseen.stack_since_ns, range_begin_ns_);
  unseen.stack_on_cpu_ns = unseen.stack_switches = unseen.stack_faults = 0;
  unseen.stack_wait_ns = unseen.stack_blocked_ns = 0;
}

void UnseenTime::SeeDead(ThreadState& thread) const {
  thread.unseen.latest_ns = 0;
  if (thread.unseen.in_loss && thread.unseen.lost_ns != 0) {
    AddCountsTo(thread.unseen);
  }
}

void UnseenTime::AddCountsTo(UnseenState& unseen) const {
  for (std::size_t i = 0; i < amounts_; ++i) {
    unseen.AddCount(i, CountSince(unseen.counts_known, i));
  }
}

}  // namespace countrace::rmap
