#include "viewer/index/build/index_builder.h"

#include <algorithm>
#include <cstring>

namespace countrace::viewer {
namespace {

// Deeper segments go into the last row if they fit, else they are counted.
constexpr std::uint32_t kMaxDepth = 1024;

std::uint32_t Number(rmap::ThreadIndex thread) {
  return static_cast<std::uint32_t>(thread);
}

std::size_t LeafBytes(RowKind kind, std::uint32_t extras) {
  switch (kind) {
    case RowKind::kHook:
      return sizeof(PointLeaf);
    case RowKind::kFault:
      return sizeof(std::uint64_t);
    case RowKind::kCounter:
      return sizeof(CounterLeaf) + 8 * std::size_t{extras};
    default:
      return sizeof(IntervalLeaf) + 8 * std::size_t{extras};
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<IndexBuilder>> IndexBuilder::Create(
    std::uint32_t events, const std::string& directory, bool to_the_end) {
  absl::StatusOr<std::unique_ptr<RowSpool>> spool = RowSpool::Create(directory);
  if (!spool.ok()) return spool.status();
  return std::unique_ptr<IndexBuilder>(
      new IndexBuilder(events, to_the_end, *std::move(spool)));
}

CollectedRow& IndexBuilder::Row(RowKind kind, std::uint32_t owner,
                                std::uint32_t depth, std::uint32_t extras) {
  const auto [entry, added] = row_of_.try_emplace(
      RowKey(kind, owner, depth), static_cast<std::uint32_t>(rows_.size()));
  if (added) {
    rows_.push_back({.kind = kind,
                     .owner = owner,
                     .depth = depth,
                     .extras = extras,
                     .flags = 0,
                     .spool_row = spool_->AddRow(LeafBytes(kind, extras)),
                     .last_end_ns = 0});
  }
  return rows_[entry->second];
}

void IndexBuilder::See(std::uint64_t begin_ns, std::uint64_t end_ns) {
  first_ns_ = std::min(first_ns_, begin_ns);
  last_ns_ = std::max(last_ns_, end_ns);
}

void IndexBuilder::AppendInterval(CollectedRow& row, IntervalLeaf leaf,
                                  const std::uint64_t* extras) {
  std::byte* const place = spool_->Append(row.spool_row);
  std::memcpy(place, &leaf, sizeof(leaf));
  if (row.extras != 0) {
    std::memcpy(place + sizeof(leaf), extras, 8 * std::size_t{row.extras});
  }
  row.last_end_ns = leaf.end_ns;
}

void IndexBuilder::OnDispatch(const rmap::DispatchSpan& span) {
  const bool idle = span.thread == rmap::kNoThread;
  IntervalLeaf leaf{.begin_ns = span.begin_ns,
                    .end_ns = std::max(span.begin_ns, span.end_ns),
                    .key = Number(span.thread),
                    .flags = 0};
  See(leaf.begin_ns, leaf.end_ns);
  if (span.begin_inferred) leaf.flags |= kLeafBeginInferred;
  if (span.end_inferred) leaf.flags |= kLeafEndInferred;
  if (span.outside) {
    leaf.flags |= kLeafOutside;
  } else if (idle) {
    leaf.flags |= kLeafIdle;
  }
  const bool counted = span.counts.size() == events_;
  if (!counted) leaf.flags |= kLeafCountsUnknown;

  CollectedRow& on_cpu = Row(RowKind::kCpu, span.cpu, 0, 1);
  if (leaf.begin_ns < on_cpu.last_end_ns) {
    ++oddities_.clipped;
    leaf.begin_ns = on_cpu.last_end_ns;
    leaf.end_ns = std::max(leaf.begin_ns, leaf.end_ns);
  }
  const std::uint64_t interrupts_ns =
      std::min(span.interrupts_ns, leaf.end_ns - leaf.begin_ns);
  AppendInterval(on_cpu, leaf, &interrupts_ns);

  const bool own_row = !idle && !span.outside;
  CollectedRow& run =
      own_row ? Row(RowKind::kThreadRun, leaf.key, 0, RunExtras(events_))
              : Row(span.outside ? RowKind::kOutsideRun : RowKind::kIdleRun,
                    span.cpu, 0, RunExtras(events_));
  if (leaf.begin_ns < run.last_end_ns) {
    // One thread on two CPUs at the same time.
    ++oddities_.clipped;
    leaf.begin_ns = run.last_end_ns;
    leaf.end_ns = std::max(leaf.begin_ns, leaf.end_ns);
  }
  leaf.key = span.cpu;
  if (own_row) {
    leaf.flags |= std::uint32_t{span.end_state} << kLeafEndStateShift;
  }
  if (!counted && events_ > 0) run.flags |= kRowCountsUnknown;
  run_extras_.assign(RunExtras(events_), 0);
  if (counted) {
    std::copy(span.counts.begin(), span.counts.end(), run_extras_.begin());
  }
  run_extras_.back() =
      std::min(span.interrupts_ns, leaf.end_ns - leaf.begin_ns);
  AppendInterval(run, leaf, run_extras_.data());
  if (span.cpu >= ended_.size()) ended_.resize(span.cpu + std::size_t{1});
  ended_[span.cpu] = true;
}

void IndexBuilder::OnCounts(const rmap::AttributedCount& attributed) {
  // Most often the dispatch that these belong to comes with them.
  if (attributed.cpu >= ended_.size() || !ended_[attributed.cpu]) return;
  if (attributed.event >= events_) return;
  std::uint64_t key = 0;
  switch (attributed.account) {
    case rmap::Account::kProcesses:
      key = RowKey(RowKind::kThreadRun, Number(attributed.thread));
      break;
    case rmap::Account::kIdle:
      key = RowKey(RowKind::kIdleRun, attributed.cpu);
      break;
    case rmap::Account::kOutside:
      key = RowKey(RowKind::kOutsideRun, attributed.cpu);
      break;
    case rmap::Account::kInterrupts:
    case rmap::Account::kUnattributed:
      return;
  }
  const auto row = row_of_.find(key);
  if (row == row_of_.end() ||
      attributed.end_ns > rows_[row->second].last_end_ns) {
    return;
  }
  auto [late, added] = late_counts_.try_emplace(key, 0);
  if (added) late->second = spool_->AddRow(sizeof(LateCount));
  const LateCount count{attributed.begin_ns, attributed.end_ns,
                        attributed.event, attributed.count};
  std::memcpy(spool_->Append(late->second), &count, sizeof(count));
}

void IndexBuilder::OnTime(const rmap::AttributedTime& attributed) {
  if (attributed.account == rmap::Account::kUnattributed) {
    missing_.Add({attributed.begin_ns, attributed.end_ns});
  }
  if (attributed.account != rmap::Account::kInterrupts) return;
  CollectedRow& row = Row(RowKind::kInterruptTime, attributed.cpu, 0, 0);
  const std::uint64_t begin_ns = std::max(attributed.begin_ns, row.last_end_ns);
  if (begin_ns >= attributed.end_ns) return;
  See(begin_ns, attributed.end_ns);
  AppendInterval(row,
                 {.begin_ns = begin_ns,
                  .end_ns = attributed.end_ns,
                  .key = attributed.cpu,
                  .flags = 0},
                 nullptr);
}

void IndexBuilder::OnInferredSwitch(const rmap::InferredSwitch& inferred) {
  InferredStep step{Number(inferred.thread), inferred.split ? 1u : 0u,
                    inferred.time_ns};
  if (step.thread == kNoKey) return;
  if (inferred_.size() < kMaxInferredSteps) {
    inferred_.push_back(step);
  } else {
    inferred_anywhere_.insert({step.thread, step.split});
  }
}

void IndexBuilder::OnUnseen(const rmap::UnseenCount& unseen) {
  // Events beyond the trace's are the running times of event sets.
  if (unseen.event && *unseen.event >= events_) return;
  missing_.Add({unseen.begin_ns, unseen.end_ns});
}

void IndexBuilder::OnBlocked(const rmap::BlockedSpan& span) {
  woken_[Number(span.thread)] = {
      span.end_ns, span.kind,
      span.kind == rmap::WakerKind::kThread ? Number(span.waker) : kNoKey};
  if (!has_pauses_) return;
  CollectedRow& row = Row(RowKind::kThreadBlocked, Number(span.thread), 0, 0);
  const std::uint64_t begin_ns = std::max(span.begin_ns, row.last_end_ns);
  if (begin_ns >= span.end_ns) return;
  See(begin_ns, span.end_ns);
  AppendInterval(
      row,
      {.begin_ns = begin_ns, .end_ns = span.end_ns, .key = kNoKey, .flags = 0},
      nullptr);
}

// Its sleep, if any, has ended before: the observer's order is that of ends.
void IndexBuilder::OnWait(const rmap::WaitSpan& span) {
  CollectedRow& row = Row(RowKind::kThreadWait, Number(span.thread), 0, 0);
  const std::uint64_t begin_ns = std::max(span.begin_ns, row.last_end_ns);
  if (begin_ns >= span.end_ns) return;
  See(begin_ns, span.end_ns);
  IntervalLeaf leaf{
      .begin_ns = begin_ns, .end_ns = span.end_ns, .key = kNoKey, .flags = 0};
  const auto woken = woken_.find(Number(span.thread));
  if (woken != woken_.end() && woken->second.time_ns == span.begin_ns) {
    leaf.key = woken->second.waker;
    leaf.flags = (1u + static_cast<unsigned>(woken->second.kind))
                 << kLeafWakerShift;
  }
  AppendInterval(row, leaf, nullptr);
}

void IndexBuilder::OnInterrupt(const rmap::InterruptSpan& span) {
  IntervalLeaf leaf{.begin_ns = span.begin_ns,
                    .end_ns = std::max(span.begin_ns, span.end_ns),
                    .key = span.hook_id,
                    .flags = 0};
  See(leaf.begin_ns, leaf.end_ns);
  if (span.end_inferred) leaf.flags |= kLeafEndInferred;
  AppendNested(RowKind::kInterrupt, span.cpu, span.depth, leaf,
               leaf.end_ns - leaf.begin_ns);
}

void IndexBuilder::OnSegment(const rmap::SegmentSpan& span) {
  IntervalLeaf leaf{.begin_ns = span.begin_ns,
                    .end_ns = std::max(span.begin_ns, span.end_ns),
                    .key = span.hook_id,
                    .flags = 0};
  See(leaf.begin_ns, leaf.end_ns);
  if (span.begin_inferred) leaf.flags |= kLeafBeginInferred;
  if (span.end_inferred) leaf.flags |= kLeafEndInferred;
  AppendNested(RowKind::kSegment, Number(span.thread), span.depth, leaf,
               span.on_cpu_ns.value_or(kUnknownTime));
}

void IndexBuilder::AppendNested(RowKind kind, std::uint32_t owner,
                                std::uint32_t at_depth, IntervalLeaf leaf,
                                std::uint64_t extra) {
  // A call that began before the trace may enclose calls that were already
  // delivered at its depth: it goes into the first deeper row where it fits, so
  // that no time is lost.
  for (std::uint32_t depth = std::min(at_depth, kMaxDepth - 1);
       depth < kMaxDepth; ++depth) {
    CollectedRow& row = Row(kind, owner, depth, 1);
    if (leaf.begin_ns < row.last_end_ns) continue;
    if (depth != at_depth) {
      leaf.flags |= kLeafDisplaced;
      ++oddities_.displaced;
    }
    AppendInterval(row, leaf, &extra);
    return;
  }
  ++oddities_.too_deep;
}

void IndexBuilder::OnHook(const rmap::HookHit& hit) {
  CollectedRow& row = Row(RowKind::kHook, Number(hit.thread), 0, 0);
  PointLeaf leaf{.time_ns = hit.time_ns, .key = hit.hook_id, .reserved = 0};
  if (leaf.time_ns < row.last_end_ns) {
    ++oddities_.out_of_order;
    leaf.time_ns = row.last_end_ns;
  }
  See(leaf.time_ns, leaf.time_ns);
  row.last_end_ns = leaf.time_ns;
  std::memcpy(spool_->Append(row.spool_row), &leaf, sizeof(leaf));
}

void IndexBuilder::OnLevel(const rmap::LevelSpan& span) {
  CollectedRow& row = Row(RowKind::kLevel, span.owner, span.hook_id, 0);
  if (span.scope == logformat::LevelScope::kThread) row.flags |= kRowOfThread;
  if (span.scope == logformat::LevelScope::kProcess) row.flags |= kRowOfProcess;
  if (span.known) See(span.begin_ns, span.end_ns);
  AppendInterval(row,
                 {.begin_ns = span.begin_ns,
                  .end_ns = span.end_ns,
                  .key = Number(span.by),
                  .flags = (span.known ? 0u : kLeafOutside) |
                           (span.end_inferred ? kLeafEndInferred : 0u)},
                 nullptr);
}

void IndexBuilder::OnFault(const rmap::FaultHit& fault) {
  if (fault.thread == rmap::kNoThread || events_ == 0) return;
  CollectedRow& row = Row(RowKind::kFault, Number(fault.thread), 0, 0);
  row.last_end_ns = std::max(row.last_end_ns, fault.time_ns);
  std::memcpy(spool_->Append(row.spool_row), &row.last_end_ns,
              sizeof(row.last_end_ns));
}

void IndexBuilder::OnCounters(const rmap::CounterDump& dump) {
  if (dump.cpu < ended_.size() && !dump.of_cut) ended_[dump.cpu] = false;
  if (events_ == 0) return;
  CollectedRow& row = Row(RowKind::kCounter, dump.cpu, 0, events_);
  std::vector<std::uint64_t>& last = counters_[dump.cpu];
  const bool first = last.empty();
  // For each event: the raw value of the last dump, then the known total so
  // far.
  if (first) last.resize(2 * std::size_t{events_});
  CounterLeaf leaf{.time_ns = dump.time_ns, .gaps = 0};
  if (!first && leaf.time_ns < row.last_end_ns) {
    ++oddities_.out_of_order;
    leaf.time_ns = row.last_end_ns;
  }
  See(leaf.time_ns, leaf.time_ns);
  for (std::uint32_t event = 0; event < events_; ++event) {
    std::uint64_t& raw = last[2 * event];
    std::uint64_t& total = last[2 * event + 1];
    const bool present = event < dump.values.size() && dump.present.Has(event);
    const std::uint64_t value = present ? dump.values[event] : raw;
    // A value that decreased is a reset; the loss is unknown.
    if (first || !present || value < raw) {
      leaf.gaps |= std::uint64_t{1} << event;
    } else {
      total += value - raw;
    }
    raw = value;
  }
  std::byte* const place = spool_->Append(row.spool_row);
  std::memcpy(place, &leaf, sizeof(leaf));
  for (std::uint32_t event = 0; event < events_; ++event) {
    std::memcpy(place + sizeof(leaf) + 8 * std::size_t{event},
                &last[2 * event + 1], 8);
  }
  row.last_end_ns = leaf.time_ns;
}

void IndexBuilder::OnLoss(const rmap::LossSpan& loss) {
  See(loss.begin_ns, std::max(loss.begin_ns, loss.end_ns));
  missing_.Add({loss.begin_ns, std::max(loss.begin_ns, loss.end_ns)});
  auto cause = std::find(causes_.begin(), causes_.end(), loss.cause);
  if (cause == causes_.end()) {
    causes_.emplace_back(loss.cause);
    cause = causes_.end() - 1;
  }
  losses_.push_back(
      {.cpu = loss.cpu,
       .thread = Number(loss.thread),
       .begin_ns = loss.begin_ns,
       .end_ns = std::max(loss.begin_ns, loss.end_ns),
       .count = loss.count,
       .cause = static_cast<std::uint32_t>(cause - causes_.begin())});
}

}  // namespace countrace::viewer
