// More than 400 lines: one class, which writes an index section by section.
#include "viewer/index/build/index_assembly.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "rmap/dispatch/interval_counts.h"
#include "viewer/index/build/counter_row_writer.h"
#include "viewer/index/build/dispatch_gaps.h"
#include "viewer/index/build/group_writer.h"
#include "viewer/index/build/index_file_writer.h"
#include "viewer/index/build/interval_row_writer.h"
#include "viewer/index/build/late_counts.h"
#include "viewer/index/build/name_tables.h"
#include "viewer/index/build/packed_row_writer.h"
#include "viewer/index/build/row_order.h"
#include "viewer/index/build/trace_facts.h"
#include "viewer/index/build/unsure_rows.h"
#include "viewer/index/file/overview_columns.h"
#include "viewer/index/file/string_pool.h"
#include "viewer/index/file/trace_span.h"
#include "viewer/index/rows/point_row.h"

namespace countrace::viewer {
namespace {

// As rmap's kinds of counters (rmap/dispatch/interval_counts.h).
std::vector<CountRule> CountRules(const logformat::TraceInfo& info) {
  std::vector<CountRule> rules;
  for (const rmap::CounterKind kind : rmap::CounterKinds(info.cpu_events)) {
    if (rules.size() == kMaxIndexedEvents) break;
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
    if (info.cpu_sets().SetOf(rules.size() - 1)) {
      rules.back() = static_cast<CountRule>(
          static_cast<std::uint32_t>(rules.back()) | kRuleInTurns);
    }
  }
  return rules;
}

class Assembler {
 public:
  Assembler(AssemblyInput input, IndexFileWriter& out)
      : in_(std::move(input)),
        out_(out),
        span_{in_.begin_ns, in_.end_ns - in_.begin_ns},
        overview_(span_.duration_ns) {}

  // Returns: CANCELLED if the input's `progress` says stop.
  absl::StatusOr<FileHeader> Run() {
    names_ = NumberNames(in_.report, in_.info, span_, strings_);
    SortRows(in_.rows, names_.thread_order);
    cpus_ = in_.info.cpus;
    for (const CollectedRow& row : in_.rows) {
      if (row.kind == RowKind::kCpu || row.kind == RowKind::kCounter) {
        cpus_ = std::max(cpus_, row.owner + 1);
      }
    }
    const absl::Status written = WriteRows();
    if (!written.ok()) return written;
    WriteTables();
    return Header();
  }

 private:
  // Returns: CANCELLED if the input's `progress` says stop.
  absl::Status WriteRows() {
    out_.BeginSection(Section::kRowData);
    WriteQualityRow();
    std::uint64_t done = 0, total = 0;
    for (const CollectedRow& row : in_.rows) {
      total += in_.spool.leaves(row.spool_row);
    }
    for (std::uint32_t number = 0; number < in_.rows.size(); ++number) {
      const CollectedRow& row = in_.rows[number];
      WriteRow(number);
      done += in_.spool.leaves(row.spool_row);
      if (in_.progress && !in_.progress({done, total})) {
        return absl::CancelledError("The timeline index is not finished");
      }
    }
    out_.EndSection();
    return absl::OkStatus();
  }

  void WriteRow(std::uint32_t number) {
    const CollectedRow& row = in_.rows[number];
    switch (row.kind) {
      case RowKind::kHook:
        WritePointRow(row);
        break;
      case RowKind::kCounter:
        rows_.push_back(EntryOf(row));
        WriteCounterRow(in_.spool, row, in_.events, span_, out_, rows_.back());
        break;
      case RowKind::kFault:
        WriteFaultRow(row);
        break;
      default:
        // The row above a segment row, if it belongs to the same thread.
        const bool nested = number != 0 && row.kind == RowKind::kSegment &&
                            in_.rows[number - 1].kind == RowKind::kSegment &&
                            in_.rows[number - 1].owner == row.owner &&
                            in_.rows[number - 1].depth + 1 == row.depth;
        WriteIntervalRow(row, nested ? &in_.rows[number - 1] : nullptr);
    }
  }

  void WriteTables() {
    MarkUnsureRows(in_.report, in_.info, sums_, names_, rows_, groups_);
    WriteSection(Section::kRows, rows_);
    WriteSection(Section::kGroups, groups_);
    WriteSection(Section::kProcesses, names_.processes);
    WriteSection(Section::kThreads, names_.threads);
    WriteSection(Section::kHooks, names_.hooks);
    WriteSection(Section::kLosses, losses_);
    const std::vector<StripColumn> columns = overview_.Finish();
    WriteSection(Section::kOverview, columns);
    WriteText(Section::kStrings, strings_.bytes());
    WriteText(Section::kFacts,
              TraceFacts(in_.report, in_.info, in_.oddities, in_.losses.size(),
                         in_.begin_ns, in_.part_from_ns));
    WriteMissing();
    WriteSection(Section::kCountRules, CountRules(in_.info));
    WriteInferred();
    WriteSection(Section::kPaths, paths_.entries());
  }

  FileHeader Header() const {
    FileHeader header{};
    header.trace = in_.fingerprint;
    header.begin_ns = in_.begin_ns;
    header.duration_ns = span_.duration_ns;
    header.cpus = cpus_;
    header.events = in_.events;
    header.overview_rows = overview_.rows();
    if (in_.report.wakeups) header.flags |= kWakeups;
    if (in_.report.interrupted) header.flags |= kFirstPart;
    if (in_.report.pauses != 0) header.flags |= kPauses;
    return header;
  }

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
    IntervalRowWriter leaves(out_, 1);
    IntervalLeaf merged{};
    std::uint64_t count = 0;
    bool open = false;
    const auto close = [&] {
      if (!open) return;
      leaves.Add(merged, merged.key, std::span(&count, 1));
      ++entry.leaves;
    };
    for (std::size_t i = 0; i < in_.losses.size(); ++i) {
      const CollectedLoss& loss = in_.losses[i];
      const std::uint64_t begin_ns = span_.Relative(loss.begin_ns);
      const std::uint64_t end_ns = span_.Relative(loss.end_ns);
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
    rows_.push_back(entry);
  }

  void WriteIntervalRow(const CollectedRow& row, const CollectedRow* parent) {
    RowEntry entry = EntryOf(row);
    IntervalRowWriter leaves(out_, row.extras);
    if (row.kind == RowKind::kCpu) overview_.BeginCpu();
    Postings postings;
    GroupKey group{};  // of `list`: most often that of the next leaf, too
    std::vector<Posting>* list = nullptr;
    EnclosingLeaves enclosing(in_.spool, parent);
    std::vector<std::uint32_t> path_of_leaf;
    RowCursor cursor(in_.spool, row.spool_row);
    std::uint32_t number = 0;
    std::vector<std::uint64_t> extras(row.extras);
    DispatchGaps gaps(in_.spool, in_.rows, row);
    LateCountsOfRow late(in_.spool, in_.late_counts, row);
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
        const EnclosingLeaves::Enclosing above = enclosing.Above(leaf);
        std::uint32_t path = kNoKey;
        if (row.kind == RowKind::kSegment) {
          path = paths_.Inside(
              above.key == kNoKey ? kNoKey : paths_above_[above.leaf],
              leaf.key);
          path_of_leaf.push_back(path);
        }
        const GroupKey own{leaf.key, above.key, path};
        if (list == nullptr || own != group) {
          group = own;
          list = &postings[own];
        }
        list->push_back({number, leaf.end_ns - leaf.begin_ns, extras[0],
                         (leaf.flags & kLeafBeginInferred) == 0,
                         (leaf.flags & kLeafEndInferred) != 0});
      }
      leaf.begin_ns = span_.Relative(leaf.begin_ns);
      leaf.end_ns = span_.Relative(leaf.end_ns);
      const std::uint32_t key =
          row.kind == RowKind::kCpu ? names_.ProcessOf(leaf.key) : leaf.key;
      if (row.kind == RowKind::kCpu) overview_.Add(leaf, key);
      leaves.Add(leaf, key, extras);
    }
    leaves.Finish(entry);
    NoteSums(entry, leaves.totals());
    paths_above_ = std::move(path_of_leaf);
    WriteGroupsOf(postings, entry);
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

  void WriteInferred() {
    for (InferredStep& step : in_.inferred) {
      if (step.time_ns != kUnknownTime)
        step.time_ns = span_.Relative(step.time_ns);
    }
    std::sort(in_.inferred.begin(), in_.inferred.end(),
              [](const InferredStep& a, const InferredStep& b) {
                return std::tie(a.thread, a.time_ns) <
                       std::tie(b.thread, b.time_ns);
              });
    WriteSection(Section::kInferredSwitches, in_.inferred);
    WriteSection(Section::kInferredCalls, inferred_calls_);
  }

  void WriteMissing() {
    const bool outside = std::any_of(rows_.begin(), rows_.end(), [](auto& row) {
      return row.kind == RowKind::kOutsideRun;
    });
    std::set<std::uint32_t> seen;
    for (const RowEntry& row : rows_) {
      if (row.kind == RowKind::kCpu) seen.insert(row.owner);
    }
    for (const CollectedLoss& loss : in_.losses) {
      if (loss.cpu < 0) continue;
      // A CPU with losses alone may have had anything at any time.
      if (!seen.contains(static_cast<std::uint32_t>(loss.cpu))) {
        in_.missing.Add({in_.begin_ns, kUnknownTime});
      }
      // The fork of a thread outside may be among the lost records.
      if (outside) in_.missing.Add({loss.begin_ns, kUnknownTime});
    }
    WriteSection(Section::kMissing, in_.missing.Take(span_));
  }

  void WriteGroupsOf(const Postings& postings, RowEntry& entry) {
    const std::uint32_t process = names_.ProcessOf(entry.owner);
    WriteGroups(postings, static_cast<std::uint32_t>(rows_.size()),
                entry.kind == RowKind::kInterrupt ? kNoKey : process, out_,
                entry, groups_, inferred_calls_);
  }

  void WritePointRow(const CollectedRow& row) {
    RowEntry entry = EntryOf(row);
    Postings postings;
    PackedRowWriter points(out_, kPointShape);
    RowCursor cursor(in_.spool, row.spool_row);
    std::uint32_t number = 0;
    for (const std::byte* bytes = cursor.Next(); bytes != nullptr;
         bytes = cursor.Next(), ++number) {
      PointLeaf leaf;
      std::memcpy(&leaf, bytes, sizeof(leaf));
      postings[{leaf.key, kNoKey, kNoKey}].push_back(
          {number, 0, kUnknownTime, true, false});
      points.AddRow();
      points.Set(kPointTime, span_.Relative(leaf.time_ns));
      points.Set(kPointKey, leaf.key);
    }
    entry.leaf_offset = points.Finish();
    WriteGroupsOf(postings, entry);
    rows_.push_back(entry);
  }

  void WriteFaultRow(const CollectedRow& row) {
    RowEntry entry = EntryOf(row);
    PackedRowWriter times(out_, kFaultShape);
    RowCursor cursor(in_.spool, row.spool_row);
    for (const std::byte* bytes = cursor.Next(); bytes != nullptr;
         bytes = cursor.Next()) {
      std::uint64_t time_ns = 0;
      std::memcpy(&time_ns, bytes, sizeof(time_ns));
      times.AddRow();
      times.Set(0, span_.Relative(time_ns));
    }
    entry.leaf_offset = times.Finish();
    rows_.push_back(entry);
  }

  AssemblyInput in_;
  IndexFileWriter& out_;
  TraceSpan span_;
  std::uint32_t cpus_ = 0;
  OverviewColumns overview_;
  StringPool strings_;
  NameTables names_;
  std::map<std::uint32_t, LeafSums> sums_;  // by thread
  std::vector<RowEntry> rows_;
  std::vector<GroupEntry> groups_;
  std::vector<InferredCall> inferred_calls_;
  PathTable paths_;
  std::vector<std::uint32_t> paths_above_;  // of the leaves of the row before
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
  for (const auto& [thread, split] : inferred_anywhere_) {
    inferred_.push_back({thread, split, kUnknownTime});
  }
  return AssembleIndex({.spool = *spool_,
                        .rows = std::move(rows_),
                        .losses = std::move(losses_),
                        .causes = causes_,
                        .late_counts = std::move(late_counts_),
                        .missing = std::move(missing_),
                        .inferred = std::move(inferred_),
                        .oddities = oddities_,
                        .events = events_,
                        .begin_ns = begin_ns,
                        .end_ns = end_ns,
                        .part_from_ns = part_from_ns_,
                        .report = report,
                        .info = info,
                        .fingerprint = fingerprint,
                        .progress = progress},
                       path);
}

}  // namespace countrace::viewer
