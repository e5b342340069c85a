// One unit although it is long: the order of sections and the derivation of
// each from collected rows.
#include "viewer/index/index_assembly.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "rmap/dispatch/interval_counts.h"
#include "viewer/index/forest.h"
#include "viewer/index/index_file_writer.h"
#include "viewer/index/interval_summary.h"
#include "viewer/index/leaf_block.h"
#include "viewer/index/overview_columns.h"
#include "viewer/index/row_limits.h"
#include "viewer/index/segment_limits.h"
#include "viewer/index/thread_run.h"

namespace countrace::viewer {
namespace {

// Strings of kStrings; equal strings are stored once.
class StringPool {
 public:
  NameRef Add(const std::string& text) {
    const auto [entry, added] = known_.try_emplace(text, NameRef{});
    if (added) {
      entry->second = {static_cast<std::uint32_t>(bytes_.size()),
                       static_cast<std::uint32_t>(text.size())};
      bytes_ += text;
    }
    return entry->second;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::map<std::string, NameRef> known_;
  std::string bytes_;
};

// As rmap's kinds of counters (rmap/dispatch/interval_counts.h).
std::vector<CountRule> CountRules(const std::vector<std::string>& events) {
  std::vector<CountRule> rules;
  for (const rmap::CounterKind kind : rmap::CounterKinds(events)) {
    switch (kind) {
      case rmap::CounterKind::kClock:
        rules.push_back(CountRule::kOnCpu);
        break;
      case rmap::CounterKind::kSwitches:
        rules.push_back(CountRule::kAtBegin);
        break;
      case rmap::CounterKind::kFaults:
        rules.push_back(CountRule::kAtFaults);
        break;
      default:
        rules.push_back(CountRule::kSpread);
    }
  }
  return rules;
}

// The waits of a thread that lie between its dispatches. Times are absolute.
class DispatchGaps {
 public:
  // Requires: `run` is one of the sorted `in.rows`.
  DispatchGaps(const AssemblyInput& in, const CollectedRow& run) {
    if (run.kind != RowKind::kThreadRun) return;
    // The rows of a thread are adjacent.
    const CollectedRow* const end = in.rows.data() + in.rows.size();
    for (const CollectedRow* row = &run; row != end; ++row) {
      if (row->owner != run.owner) break;
      if (row->kind != RowKind::kThreadWait) continue;
      waits_ = std::make_unique<RowCursor>(in.spool, row->spool_row);
      next_ = waits_->Next();
    }
  }
  // Time between the dispatch of the last call and `leaf` in which the thread
  // was blocked; 0 if that is not known.
  std::uint64_t BlockedBefore(const IntervalLeaf& leaf) {
    const std::uint64_t since_ns = std::exchange(last_end_ns_, leaf.end_ns);
    bool blocked = std::exchange(blocks_, LeavesBlocked(leaf.flags));
    std::uint64_t waited_ns = 0;
    for (; next_ != nullptr; next_ = waits_->Next()) {
      IntervalLeaf wait;
      std::memcpy(&wait, next_, sizeof(wait));
      if (wait.begin_ns >= leaf.begin_ns) break;
      if (waited_ns == 0 && WasWoken(wait.flags)) blocked = since_ns != 0;
      waited_ns += wait.end_ns - wait.begin_ns;
    }
    const std::uint64_t gap_ns =
        leaf.begin_ns - std::min(leaf.begin_ns, since_ns);
    return blocked ? gap_ns - std::min(gap_ns, waited_ns) : 0;
  }

 private:
  std::unique_ptr<RowCursor> waits_;
  const std::byte* next_ = nullptr;
  std::uint64_t last_end_ns_ = 0;
  bool blocks_ = false;
};

// The late counts of one row, added to its leaves in their order.
class LateCountsOfRow {
 public:
  LateCountsOfRow(const AssemblyInput& in, const CollectedRow& row) {
    const auto found = in.late_counts.find(RowKey(row.kind, row.owner));
    if (found == in.late_counts.end()) return;
    RowCursor cursor(in.spool, found->second);
    for (const std::byte* bytes = cursor.Next(); bytes != nullptr;
         bytes = cursor.Next()) {
      std::memcpy(&counts_.emplace_back(), bytes, sizeof(LateCount));
    }
    std::stable_sort(counts_.begin(), counts_.end(),
                     [](const LateCount& a, const LateCount& b) {
                       return a.begin_ns < b.begin_ns;
                     });
  }
  void AddTo(const IntervalLeaf& leaf, std::vector<std::uint64_t>& extras) {
    for (; next_ < counts_.size() && counts_[next_].begin_ns < leaf.end_ns;
         ++next_) {
      // One of several dispatches together stays out: which has what of it is
      // not known.
      if (counts_[next_].begin_ns < leaf.begin_ns ||
          counts_[next_].end_ns > leaf.end_ns) {
        continue;
      }
      extras[counts_[next_].event] += counts_[next_].count;
    }
  }

 private:
  std::vector<LateCount> counts_;
  std::size_t next_ = 0;
};

class Assembler {
 public:
  Assembler(AssemblyInput input, IndexFileWriter& out)
      : in_(std::move(input)),
        out_(out),
        duration_ns_(in_.end_ns - in_.begin_ns),
        overview_(duration_ns_) {}

  // Returns: CANCELLED if the input's `progress` says stop.
  absl::StatusOr<FileHeader> Run() {
    NumberNames();
    SortRows();
    out_.BeginSection(Section::kRowData);
    WriteQualityRow();
    std::uint32_t previous = kNoKey;
    std::uint64_t done = 0, total = 0;
    for (const CollectedRow& row : in_.rows) {
      total += in_.spool.leaves(row.spool_row);
    }
    for (std::uint32_t number = 0; number < in_.rows.size(); ++number) {
      const CollectedRow& row = in_.rows[number];
      switch (row.kind) {
        case RowKind::kHook:
          WritePointRow(row);
          break;
        case RowKind::kCounter:
          WriteCounterRow(row);
          break;
        case RowKind::kFault:
          WriteFaultRow(row);
          break;
        default:
          // The row above a segment row, if it belongs to the same thread.
          const bool nested = previous != kNoKey &&
                              row.kind == RowKind::kSegment &&
                              in_.rows[previous].kind == RowKind::kSegment &&
                              in_.rows[previous].owner == row.owner &&
                              in_.rows[previous].depth + 1 == row.depth;
          WriteIntervalRow(row, nested ? &in_.rows[previous] : nullptr);
      }
      previous = number;
      done += in_.spool.leaves(row.spool_row);
      if (in_.progress && !in_.progress({done, total})) {
        return absl::CancelledError("The timeline index is not finished");
      }
    }
    out_.EndSection();
    WriteSection(Section::kRows, rows_);
    WriteSection(Section::kGroups, groups_);
    WriteSection(Section::kProcesses, processes_);
    WriteSection(Section::kThreads, threads_);
    WriteSection(Section::kHooks, hooks_);
    WriteSection(Section::kLosses, losses_);
    const std::vector<StripColumn> columns = overview_.Finish();
    WriteSection(Section::kOverview, columns);
    WriteText(Section::kStrings, strings_.bytes());
    WriteText(Section::kFacts, Facts());
    WriteLimits();
    WriteUnseen();
    WriteSection(Section::kCountRules, CountRules(in_.info.cpu_events));

    FileHeader header{};
    header.trace = in_.fingerprint;
    header.begin_ns = in_.begin_ns;
    header.duration_ns = duration_ns_;
    header.cpus = cpus_;
    header.events = in_.events;
    header.overview_rows = overview_.rows();
    if (in_.owners_unknown_since_ns != UINT64_MAX) {
      header.flags |= kOwnersUnknown;
    }
    if (in_.owners_unknown_since_ns <= in_.begin_ns) {
      header.flags |= kOwnersUnknownAtBegin;
    }
    if (in_.report.wakeups) header.flags |= kWakeups;
    if (in_.report.interrupted) header.flags |= kFirstPart;
    return header;
  }

 private:
  template <typename T>
  void WriteSection(Section section, const std::vector<T>& entries) {
    out_.BeginSection(section);
    out_.AppendArray(std::span<const T>(entries));
    out_.EndSection();
  }
  void WriteText(Section section, const std::string& text) {
    out_.BeginSection(section);
    out_.AppendArray(std::span<const char>(text));
    out_.EndSection();
  }

  static std::uint32_t Listed(rmap::Quality quality) {
    return 1 + static_cast<std::uint32_t>(quality);
  }

  // Names are complete only after reconstruction: until then rows carry
  // indexes.
  void NumberNames() {
    for (const rmap::ProcessRow& row : in_.report.processes) {
      const auto number = static_cast<std::size_t>(row.index);
      if (number >= processes_.size()) processes_.resize(number + 1);
      processes_[number] = {.pid = row.pid,
                            .parent_pid = row.parent_pid,
                            .comm = strings_.Add(row.comm),
                            .on_cpu_ns = row.on_cpu_ns.value_or(kUnknownTime),
                            .in_scope = row.in_scope ? 1u : 0u,
                            .listed = Listed(row.quality)};
    }
    thread_order_.assign(in_.report.threads.size(), 0);
    for (const rmap::ThreadRow& row : in_.report.threads) {
      const auto number = static_cast<std::size_t>(row.index);
      if (number >= threads_.size()) {
        ThreadEntry unlisted{};
        unlisted.process = kNoKey;
        threads_.resize(number + 1, unlisted);
        thread_order_.resize(number + 1, kNoKey);
      }
      threads_[number] = {.tid = row.tid,
                          .pid = row.pid,
                          .process = static_cast<std::uint32_t>(row.process),
                          .listed = Listed(row.quality),
                          .comm = strings_.Add(row.comm),
                          .on_cpu_ns = row.on_cpu_ns.value_or(kUnknownTime),
                          .first_seen_ns = Relative(row.first_seen_ns),
                          .last_seen_ns = Relative(row.last_seen_ns)};
      thread_order_[number] =
          static_cast<std::uint32_t>(&row - in_.report.threads.data());
    }
    for (const logformat::HookInfo& hook : in_.info.hooks) {
      hooks_.push_back({.id = hook.id,
                        .kind = static_cast<std::uint16_t>(hook.kind),
                        .origin = static_cast<std::uint16_t>(hook.origin),
                        .name = strings_.Add(hook.FullName()),
                        .location = strings_.Add(hook.location)});
    }
    std::sort(
        hooks_.begin(), hooks_.end(),
        [](const HookEntry& a, const HookEntry& b) { return a.id < b.id; });
  }

  std::uint32_t ProcessOf(std::uint32_t thread) const {
    return thread < threads_.size() ? threads_[thread].process : kNoKey;
  }

  // Display order: CPUs, then threads by on-CPU time (the report's order) with
  // their run, hooks, depths and waits, then rows that are not drawn
  // themselves.
  void SortRows() {
    const auto rank = [this](const CollectedRow& row) {
      const bool of_thread =
          row.kind == RowKind::kThreadRun || row.kind == RowKind::kHook ||
          row.kind == RowKind::kSegment || row.kind == RowKind::kThreadWait ||
          row.kind == RowKind::kFault;
      const std::uint32_t part = row.kind == RowKind::kCpu ? 0
                                 : of_thread               ? 1
                                                           : 2;
      const std::uint32_t owner = of_thread && row.owner < thread_order_.size()
                                      ? thread_order_[row.owner]
                                      : row.owner;
      return std::tuple(
          part, of_thread ? 0u : static_cast<std::uint32_t>(row.kind), owner,
          row.owner, static_cast<std::uint32_t>(row.kind), row.depth);
    };
    std::sort(in_.rows.begin(), in_.rows.end(),
              [&rank](const CollectedRow& a, const CollectedRow& b) {
                return rank(a) < rank(b);
              });
    cpus_ = in_.info.cpus;
    for (const CollectedRow& row : in_.rows) {
      if (row.kind == RowKind::kCpu || row.kind == RowKind::kCounter) {
        cpus_ = std::max(cpus_, row.owner + 1);
      }
    }
  }

  std::uint64_t Relative(std::uint64_t time_ns) const {
    return std::min(time_ns < in_.begin_ns ? 0 : time_ns - in_.begin_ns,
                    duration_ns_);
  }

  RowEntry EntryOf(const CollectedRow& row) const {
    return {.kind = row.kind,
            .owner = row.owner,
            .depth = row.depth,
            .flags = row.flags,
            .extras = row.extras,
            .reserved = 0,
            .leaves = in_.spool.leaves(row.spool_row),
            .leaf_offset = out_.offset(),
            .node_offset = 0,
            .prefix_offset = 0,
            .first_group = 0,
            .groups = 0};
  }

  // Nodes and prefix sums of an interval row, leaf by leaf.
  class BlockSums {
   public:
    explicit BlockSums(std::uint32_t extras) : sums_(1 + extras, 0) {}
    void Add(const IntervalLeaf& leaf, std::uint32_t key,
             const std::uint64_t* extras) {
      if (leaves_ % kIntervalBlock == 0) {
        if (leaves_ != 0) CloseBlock();
        prefix_.insert(prefix_.end(), sums_.begin(), sums_.end());
      }
      ++leaves_;
      const std::uint64_t wall_ns = leaf.end_ns - leaf.begin_ns;
      AddLeaf(node_, key, leaf.flags, wall_ns);
      sums_[0] += wall_ns;
      for (std::size_t i = 1; i < sums_.size(); ++i) {
        if (extras[i - 1] != kUnknownTime) sums_[i] += extras[i - 1];
      }
    }
    void Finish() {
      if (leaves_ != 0) CloseBlock();
      prefix_.insert(prefix_.end(), sums_.begin(), sums_.end());
    }
    const std::vector<IntervalNode>& nodes() const { return forest_.nodes(); }
    const std::vector<std::uint64_t>& prefix() const { return prefix_; }
    // Wall time, then the extras, of all leaves.
    const std::vector<std::uint64_t>& totals() const { return sums_; }

   private:
    void CloseBlock() {
      forest_.Append(node_, MergeNodes);
      node_ = EmptyNode();
    }
    std::uint64_t leaves_ = 0;
    std::vector<std::uint64_t> sums_, prefix_;
    IntervalNode node_ = EmptyNode();
    ForestBuilder<IntervalNode> forest_;
  };

  // Writes leaves as they come, then where their blocks are.
  class PackedLeaves {
   public:
    PackedLeaves(IndexFileWriter& out, std::uint32_t extras)
        : out_(out), block_(extras) {}
    void Add(const IntervalLeaf& leaf, std::span<const std::uint64_t> extras) {
      block_.Add(leaf, extras);
      if (block_.full()) CloseBlock();
    }
    void Finish(RowEntry& entry) {
      if (!block_.empty()) CloseBlock();
      entry.leaf_offset = out_.offset();
      out_.AppendArray(std::span<const std::uint64_t>(offsets_));
    }

   private:
    void CloseBlock() {
      offsets_.push_back(out_.offset());
      out_.Append(block_.Take());
    }
    IndexFileWriter& out_;
    LeafBlockWriter block_;
    std::vector<std::uint64_t> offsets_;
  };

  void WriteSums(BlockSums& sums, RowEntry& entry) {
    sums.Finish();
    entry.node_offset = out_.offset();
    out_.AppendArray(std::span(sums.nodes()));
    entry.prefix_offset = out_.offset();
    out_.AppendArray(std::span(sums.prefix()));
  }

  // Losses of all sources, merged where they touch, as one row.
  void WriteQualityRow() {
    std::sort(in_.losses.begin(), in_.losses.end(),
              [](const CollectedLoss& a, const CollectedLoss& b) {
                return std::tie(a.begin_ns, a.end_ns) <
                       std::tie(b.begin_ns, b.end_ns);
              });
    RowEntry entry{};
    entry.kind = RowKind::kQuality;
    entry.extras = 1;
    PackedLeaves leaves(out_, 1);
    BlockSums sums(1);
    IntervalLeaf merged{};
    std::uint64_t count = 0;
    bool open = false;
    const auto close = [&] {
      if (!open) return;
      leaves.Add(merged, std::span(&count, 1));
      sums.Add(merged, merged.key, &count);
      ++entry.leaves;
    };
    for (std::size_t i = 0; i < in_.losses.size(); ++i) {
      const CollectedLoss& loss = in_.losses[i];
      const std::uint64_t begin_ns = Relative(loss.begin_ns);
      const std::uint64_t end_ns = Relative(loss.end_ns);
      if (i < kMaxLosses) {
        losses_.push_back({.cpu = loss.cpu,
                           .thread = loss.thread,
                           .begin_ns = begin_ns,
                           .end_ns = end_ns,
                           .count = loss.count,
                           .cause = strings_.Add(in_.causes[loss.cause])});
      }
      if (open && begin_ns <= merged.end_ns) {
        merged.end_ns = std::max(merged.end_ns, end_ns);
        count += loss.count;
        continue;
      }
      close();
      merged = {.begin_ns = begin_ns,
                .end_ns = end_ns,
                .key = static_cast<std::uint32_t>(i),
                .flags = 0};
      count = loss.count;
      open = true;
    }
    close();
    leaves.Finish(entry);
    WriteSums(sums, entry);
    rows_.push_back(entry);
  }

  void WriteIntervalRow(const CollectedRow& row, const CollectedRow* parent) {
    RowEntry entry = EntryOf(row);
    PackedLeaves leaves(out_, row.extras);
    BlockSums sums(row.extras);
    if (row.kind == RowKind::kCpu) overview_.BeginCpu();
    Postings postings;
    std::unique_ptr<RowCursor> parents;
    const std::byte* above = nullptr;
    const std::byte* above_next = nullptr;
    if (parent != nullptr) {
      parents = std::make_unique<RowCursor>(in_.spool, parent->spool_row);
      above = parents->Next();
      above_next = above == nullptr ? nullptr : parents->Next();
    }
    RowCursor cursor(in_.spool, row.spool_row);
    std::uint32_t number = 0;
    std::vector<std::uint64_t> extras(row.extras);
    DispatchGaps gaps(in_, row);
    LateCountsOfRow late(in_, row);
    for (const std::byte* bytes = cursor.Next(); bytes != nullptr;
         bytes = cursor.Next(), ++number) {
      IntervalLeaf leaf;
      std::memcpy(&leaf, bytes, sizeof(leaf));
      if (row.extras != 0) {
        std::memcpy(extras.data(), bytes + sizeof(leaf), 8 * extras.size());
      }
      if (row.kind == RowKind::kThreadRun) {
        extras[in_.events] = gaps.BlockedBefore(leaf);
      }
      late.AddTo(leaf, extras);
      if (row.kind == RowKind::kSegment || row.kind == RowKind::kInterrupt) {
        std::uint32_t parent_key = kNoKey;
        // Both rows are in time order: the parent only moves forward.
        while (above_next != nullptr && LeafAt(above).end_ns <= leaf.begin_ns &&
               LeafAt(above_next).begin_ns <= leaf.begin_ns) {
          above = above_next;
          above_next = parents->Next();
        }
        if (above != nullptr) {
          const IntervalLeaf enclosing = LeafAt(above);
          if (enclosing.begin_ns <= leaf.begin_ns &&
              leaf.end_ns <= enclosing.end_ns) {
            parent_key = enclosing.key;
          }
        }
        postings[{leaf.key, parent_key}].push_back(
            {number, leaf.end_ns - leaf.begin_ns, extras[0],
             (leaf.flags & kLeafBeginInferred) == 0});
      }
      leaf.begin_ns = Relative(leaf.begin_ns);
      leaf.end_ns = Relative(leaf.end_ns);
      const std::uint32_t key =
          row.kind == RowKind::kCpu ? ProcessOf(leaf.key) : leaf.key;
      sums.Add(leaf, key, extras.data());
      if (row.kind == RowKind::kCpu) overview_.Add(leaf, key);
      leaves.Add(leaf, extras);
    }
    leaves.Finish(entry);
    WriteSums(sums, entry);
    NoteSums(entry, sums.totals());
    WriteGroups(postings, entry);
    rows_.push_back(entry);
  }

  void NoteSums(const RowEntry& entry,
                const std::vector<std::uint64_t>& totals) {
    if (entry.kind == RowKind::kThreadRun) {
      LeafSums& sums = sums_[entry.owner];
      sums.on_cpu_ns = totals.front() - totals.back();
      sums.dispatches = entry.leaves;
      sums.counts.assign(totals.begin() + 1, totals.end() - 2);
    } else if (entry.kind == RowKind::kThreadWait) {
      sums_[entry.owner].wait_ns = totals.front();
    }
  }

  void WriteLimits() {
    RowLimits of_threads(in_.events), of_processes(in_.events);
    std::map<std::uint32_t, LeafSums> process_sums;
    for (const rmap::ThreadRow& row : in_.report.threads) {
      const auto number = static_cast<std::uint32_t>(row.index);
      sums_[number].elsewhere = !row.on_cpu_ns.has_value();
      of_threads.Add(number, row, sums_[number]);
      process_sums[static_cast<std::uint32_t>(row.process)].Add(sums_[number]);
    }
    for (const rmap::ProcessRow& row : in_.report.processes) {
      const auto number = static_cast<std::uint32_t>(row.index);
      of_processes.Add(number, row, process_sums[number]);
    }
    WriteSection(Section::kThreadLimits, of_threads.Take(threads_.size()));
    WriteSection(Section::kProcessLimits, of_processes.Take(processes_.size()));
    WriteSection(Section::kSegmentLimits,
                 segment_sums_.LimitsBy(in_.report, in_.info));
  }

  void WriteUnseen() {
    const auto relative = [this](std::uint64_t time_ns) {
      return Relative(time_ns);
    };
    using Interval = UnseenIntervals::Interval;
    WriteSection(Section::kUnseenBegins,
                 in_.unseen.Steps(&Interval::begin_ns, relative));
    WriteSection(Section::kUnseenEnds,
                 in_.unseen.Steps(&Interval::end_ns, relative));
  }

  struct Posting {
    std::uint32_t leaf;
    std::uint64_t wall_ns, on_cpu_ns;
    bool counted;  // GroupSum::uncounted
  };
  // Keyed by (hook, enclosing hook).
  using Postings =
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Posting>>;

  static IntervalLeaf LeafAt(const std::byte* bytes) {
    IntervalLeaf leaf;
    std::memcpy(&leaf, bytes, sizeof(leaf));
    return leaf;
  }

  // As TotalsIn() of the whole trace.
  void NoteCalls(const Postings& postings, std::uint32_t process) {
    for (const auto& [keys, list] : postings) {
      SegmentSums::Sums& own = segment_sums_.Of(process, keys.first);
      std::uint64_t calls = 0, wall_ns = 0, on_cpu_ns = 0;
      for (const Posting& call : list) {
        if (!call.counted) continue;
        ++calls;
        wall_ns += call.wall_ns;
        if (call.on_cpu_ns != kUnknownTime) on_cpu_ns += call.on_cpu_ns;
      }
      own[kSegmentCalls] += calls;
      own[kSegmentWallIncl] += wall_ns;
      own[kSegmentWallExcl] += wall_ns;
      own[kSegmentOnCpuIncl] += on_cpu_ns;
      own[kSegmentOnCpuExcl] += on_cpu_ns;
      if (keys.second == kNoKey) continue;
      SegmentSums::Sums& parent = segment_sums_.Of(process, keys.second);
      parent[kSegmentWallExcl] -= wall_ns;
      parent[kSegmentOnCpuExcl] -= on_cpu_ns;
    }
  }

  void WriteGroups(const Postings& postings, RowEntry& entry) {
    if (entry.kind == RowKind::kSegment) {
      NoteCalls(postings, ProcessOf(entry.owner));
    }
    entry.first_group = static_cast<std::uint32_t>(groups_.size());
    entry.groups = static_cast<std::uint32_t>(postings.size());
    for (const auto& [keys, list] : postings) {
      GroupEntry group{.row = static_cast<std::uint32_t>(rows_.size()),
                       .key = keys.first,
                       .parent = keys.second,
                       .process = entry.kind == RowKind::kInterrupt
                                      ? kNoKey
                                      : ProcessOf(entry.owner),
                       .count = list.size(),
                       .posting_offset = out_.offset(),
                       .prefix_offset = 0};
      std::vector<std::uint32_t> leaves;
      std::vector<GroupSum> sums;
      GroupSum sum{};
      leaves.reserve(list.size() + 1);
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (i % kGroupBlock == 0) sums.push_back(sum);
        leaves.push_back(list[i].leaf);
        if (!list[i].counted) {
          ++sum.uncounted;
          continue;
        }
        sum.wall_ns += list[i].wall_ns;
        if (list[i].on_cpu_ns == kUnknownTime) {
          ++sum.on_cpu_unknown;
        } else {
          sum.on_cpu_ns += list[i].on_cpu_ns;
        }
      }
      sums.push_back(sum);
      if (leaves.size() % 2 != 0) leaves.push_back(0);  // 8-byte alignment
      out_.AppendArray(std::span<const std::uint32_t>(leaves));
      group.prefix_offset = out_.offset();
      out_.AppendArray(std::span<const GroupSum>(sums));
      groups_.push_back(group);
    }
  }

  void WritePointRow(const CollectedRow& row) {
    RowEntry entry = EntryOf(row);
    Postings postings;
    RowCursor cursor(in_.spool, row.spool_row);
    std::uint32_t number = 0;
    for (const std::byte* bytes = cursor.Next(); bytes != nullptr;
         bytes = cursor.Next(), ++number) {
      PointLeaf leaf;
      std::memcpy(&leaf, bytes, sizeof(leaf));
      leaf.time_ns = Relative(leaf.time_ns);
      postings[{leaf.key, kNoKey}].push_back({number, 0, kUnknownTime, true});
      out_.AppendArray(std::span<const PointLeaf>(&leaf, 1));
    }
    WriteGroups(postings, entry);
    rows_.push_back(entry);
  }

  void WriteFaultRow(const CollectedRow& row) {
    const RowEntry entry = EntryOf(row);
    RowCursor cursor(in_.spool, row.spool_row);
    for (const std::byte* bytes = cursor.Next(); bytes != nullptr;
         bytes = cursor.Next()) {
      std::uint64_t time_ns = 0;
      std::memcpy(&time_ns, bytes, sizeof(time_ns));
      time_ns = Relative(time_ns);
      out_.AppendArray(std::span<const std::uint64_t>(&time_ns, 1));
    }
    rows_.push_back(entry);
  }

  void WriteCounterRow(const CollectedRow& row) {
    RowEntry entry = EntryOf(row);
    const std::size_t events = in_.events;
    std::vector<ForestBuilder<CounterNode>> forests(events);
    const CounterNode empty{
        .min_rate = 1, .max_rate = 0, .gaps = 0, .reserved = 0};
    std::vector<CounterNode> blocks(events, empty);
    const auto merge = [](const CounterNode& a, const CounterNode& b) {
      CounterNode node = a;
      node.gaps += b.gaps;
      if (b.min_rate <= b.max_rate) {
        const bool none = node.min_rate > node.max_rate;
        node.min_rate = none ? b.min_rate : std::min(node.min_rate, b.min_rate);
        node.max_rate = none ? b.max_rate : std::max(node.max_rate, b.max_rate);
      }
      return node;
    };
    std::uint64_t steps = 0;
    const auto close = [&] {
      for (std::size_t event = 0; event < events; ++event) {
        forests[event].Append(blocks[event], merge);
        blocks[event] = empty;
      }
    };
    CounterLeaf last{};
    std::vector<std::uint64_t> values(events), last_values(events);
    RowCursor cursor(in_.spool, row.spool_row);
    bool first = true;
    for (const std::byte* bytes = cursor.Next(); bytes != nullptr;
         bytes = cursor.Next(), first = false) {
      CounterLeaf leaf;
      std::memcpy(&leaf, bytes, sizeof(leaf));
      std::memcpy(values.data(), bytes + sizeof(leaf), 8 * events);
      leaf.time_ns = Relative(leaf.time_ns);
      if (!first) {
        for (std::size_t event = 0; event < events; ++event) {
          CounterNode step = empty;
          if (((leaf.gaps >> event) & 1) != 0) {
            step.gaps = 1;
          } else if (leaf.time_ns > last.time_ns) {
            step.min_rate = step.max_rate = static_cast<float>(
                static_cast<double>(values[event] - last_values[event]) /
                static_cast<double>(leaf.time_ns - last.time_ns));
          }
          blocks[event] = merge(blocks[event], step);
        }
        if (++steps % kCounterBlock == 0) close();
      }
      last = leaf;
      last_values = values;
      out_.AppendArray(std::span<const CounterLeaf>(&leaf, 1));
      out_.AppendArray(std::span<const std::uint64_t>(values));
    }
    if (steps % kCounterBlock != 0) close();
    entry.node_offset = out_.offset();  // one forest for each event, in order
    for (const ForestBuilder<CounterNode>& forest : forests) {
      out_.AppendArray(std::span(forest.nodes()));
    }
    rows_.push_back(entry);
  }

  // Facts about the whole trace for the client.
  std::string Facts() const {
    const rmap::Report& report = in_.report;
    nlohmann::json facts;
    facts["path"] = report.path;
    facts["scope"] = report.scope;
    facts["command"] = report.command;
    facts["hostname"] = report.hostname;
    facts["kernel_release"] = report.kernel_release;
    facts["records"] = report.records;
    facts["wakeups"] = report.wakeups;
    facts["finished"] = report.finished;
    facts["realtime_offset_ns"] =
        std::to_string(in_.info.realtime_offset_ns);  // beyond 2^53
    facts["events"] = in_.info.cpu_events;
    for (std::size_t i = 0; i < in_.info.cpu_events.size(); ++i) {
      if (in_.info.cpu_sets().SetOf(i)) facts["events_in_turns"].push_back(i);
    }
    nlohmann::json& triggers = facts["triggers"];
    triggers = nlohmann::json::array();
    for (const logformat::TriggerFiring& trigger : in_.info.triggers) {
      if (triggers.size() == 1000) break;  // bounded, as every answer is
      triggers.push_back(
          {{"t", trigger.time_ns - std::min(trigger.time_ns, in_.begin_ns)},
           {"trigger", trigger.trigger},
           {"what", trigger.what}});
    }
    nlohmann::json& loss = facts["loss"];
    loss["discarded_events"] = report.loss.discarded_events;
    loss["discarded_packets"] = report.loss.discarded_packets;
    loss["clock_errors"] = report.loss.clock_errors;
    loss["by_cause"] = report.loss.by_cause;
    loss["intervals"] = in_.losses.size();
    // Bounded, as every answer is.
    loss["messages"] = std::vector<std::string>(
        report.loss.messages.begin(),
        report.loss.messages.begin() +
            static_cast<std::ptrdiff_t>(
                std::min<std::size_t>(report.loss.messages.size(), 50)));
    facts["oddities"] = {{"clipped", in_.oddities.clipped},
                         {"displaced", in_.oddities.displaced},
                         {"out_of_order", in_.oddities.out_of_order},
                         {"too_deep", in_.oddities.too_deep}};
    return facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  AssemblyInput in_;
  IndexFileWriter& out_;
  std::uint64_t duration_ns_;
  std::uint32_t cpus_ = 0;
  OverviewColumns overview_;
  StringPool strings_;
  std::vector<std::uint32_t> thread_order_;
  std::map<std::uint32_t, LeafSums> sums_;  // by thread
  SegmentSums segment_sums_;
  std::vector<RowEntry> rows_;
  std::vector<GroupEntry> groups_;
  std::vector<ProcessEntry> processes_;
  std::vector<ThreadEntry> threads_;
  std::vector<HookEntry> hooks_;
  std::vector<LossEntry> losses_;
};

}  // namespace

absl::Status AssembleIndex(AssemblyInput input, const std::string& path) {
  absl::StatusOr<std::unique_ptr<IndexFileWriter>> out =
      IndexFileWriter::Create(path);
  if (!out.ok()) return out.status();
  const absl::StatusOr<FileHeader> header =
      Assembler(std::move(input), **out).Run();
  if (!header.ok()) return header.status();
  return (*out)->Commit(*header);
}

absl::Status IndexBuilder::Finish(const rmap::Report& report,
                                  const logformat::TraceInfo& info,
                                  const Fingerprint& fingerprint,
                                  const std::string& path,
                                  const logformat::ProgressCallback& progress) {
  if (absl::Status sealed = spool_->Seal(); !sealed.ok()) return sealed;
  const std::uint64_t begin_ns = report.end_ns > report.begin_ns
                                     ? std::min(report.begin_ns, first_ns_)
                                     : std::min(first_ns_, last_ns_);
  const std::uint64_t end_ns = std::max({report.end_ns, last_ns_, begin_ns});
  return AssembleIndex({.spool = *spool_,
                        .rows = std::move(rows_),
                        .losses = std::move(losses_),
                        .causes = causes_,
                        .late_counts = std::move(late_counts_),
                        .unseen = std::move(unseen_),
                        .owners_unknown_since_ns = owners_unknown_since_ns_,
                        .oddities = oddities_,
                        .events = events_,
                        .begin_ns = begin_ns,
                        .end_ns = end_ns,
                        .report = report,
                        .info = info,
                        .fingerprint = fingerprint,
                        .progress = progress},
                       path);
}

}  // namespace countrace::viewer
