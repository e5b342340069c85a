// The bytes of an index file, mapped read-only or in memory. They are validated
// once; then every access is in bounds for any contents. Plain access only;
// lookups are in interval_row.h, counter_row.h and range_totals.h.
//
// Thread: immutable after Open, so any number of threads may read it.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_TIMELINE_INDEX_H_
#define COUNTRACE_VIEWER_INDEX_FILE_TIMELINE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

class TimelineIndex {
 public:
  // Maps `path` and checks header, sections, checksums and every offset. Above
  // `max_checked_bytes` the checksum of the row data is not computed, so that
  // opening stays fast; offsets are still checked.
  //
  // Returns: NOT_FOUND no such file; FAILED_PRECONDITION it belongs to another
  // version or another trace (`expected`, may be null); DATA_LOSS damaged. All
  // three mean: build it again.
  static absl::StatusOr<std::unique_ptr<TimelineIndex>> Open(
      const std::string& path, const Fingerprint* expected,
      std::uint64_t max_checked_bytes = std::uint64_t{1} << 29);
  // The same of `bytes`, which must outlive the index and be aligned to 8;
  // `name` is for messages.
  static absl::StatusOr<std::unique_ptr<TimelineIndex>> OpenBytes(
      std::span<const std::byte> bytes, const std::string& name);
  virtual ~TimelineIndex() = default;
  TimelineIndex(const TimelineIndex&) = delete;
  TimelineIndex& operator=(const TimelineIndex&) = delete;

  const FileHeader& header() const { return *header_; }
  std::uint64_t duration_ns() const { return header_->duration_ns; }
  // False: it is of the trace's first part.
  bool is_whole() const { return (header_->flags & kFirstPart) == 0; }
  std::span<const RowEntry> rows() const { return rows_; }
  std::span<const GroupEntry> groups() const { return groups_; }
  std::span<const ProcessEntry> processes() const { return processes_; }
  std::span<const ThreadEntry> threads() const { return threads_; }
  std::span<const HookEntry> hooks() const { return hooks_; }
  std::span<const LossEntry> losses() const { return losses_; }
  // header().overview_rows rows of kOverviewColumns.
  std::span<const StripColumn> overview() const { return overview_; }
  std::string_view facts() const { return facts_; }
  // Nothing is missing in the range, its edges included. O(log n).
  bool HasAll(std::uint64_t begin_ns, std::uint64_t end_ns) const;
  // `unsure`: an Unsure of a row, whose numbers of the range are not sure.
  bool IsUnsure(std::uint32_t unsure, std::uint64_t begin_ns,
                std::uint64_t end_ns) const {
    return unsure == kUnsureAnywhere ||
           (unsure != kSure && !HasAll(begin_ns, end_ns));
  }
  CountRule RuleOf(std::uint32_t event) const {
    return static_cast<CountRule>(Rule(event) & ~kRuleInTurns);
  }
  // Its set took turns with others: the report has an estimate.
  bool IsInTurns(std::uint32_t event) const {
    return (Rule(event) & kRuleInTurns) != 0;
  }
  // By thread, then time.
  std::span<const InferredStep> inferred_switches() const {
    return inferred_switches_;
  }
  // By group, then posting.
  std::span<const InferredCall> inferred_calls() const {
    return inferred_calls_;
  }
  std::span<const PathEntry> paths() const { return paths_; }
  std::string_view Text(NameRef name) const;

  // To be called after questions: whether the index was there to answer them.
  // Returns: DATA_LOSS if its file shrank.
  virtual absl::Status CheckWhole() const { return absl::OkStatus(); }

  // kNoKey if the thread has no process.
  std::uint32_t ProcessOf(std::uint32_t thread) const;

  // The whole file.
  std::span<const std::byte> bytes() const { return {bytes_, file_bytes_}; }
  // Row data. Requires: an array of a RowEntry or GroupEntry of this index.
  template <typename T>
  const T* At(std::uint64_t offset) const {
    return reinterpret_cast<const T*>(bytes_ + offset);
  }

 protected:
  TimelineIndex() = default;
  // Reads from `bytes` from here on. Errors: as Open().
  absl::Status Read(std::span<const std::byte> bytes, const std::string& path,
                    const Fingerprint* expected,
                    std::uint64_t max_checked_bytes);

 private:
  absl::Status Damaged(std::string_view what, std::uint64_t number) const;
  absl::Status CheckHeader(const Fingerprint* expected) const;
  absl::Status CheckSections(std::uint64_t max_checked_bytes) const;
  void TakeSections();
  // After TakeSections(): all that is read by a number or an offset is there.
  absl::Status CheckItems() const;
  bool IsSound(const RowEntry& row) const;
  bool IsSound(const GroupEntry& group) const;

  const SectionEntry& SectionOf(Section which) const {
    return header_->sections[static_cast<std::size_t>(which)];
  }
  std::uint32_t Rule(std::uint32_t event) const {
    return static_cast<std::uint32_t>(
        event < count_rules_.size() ? count_rules_[event] : CountRule::kSpread);
  }
  const std::byte* bytes_ = nullptr;
  std::size_t file_bytes_ = 0;
  std::string path_;
  const FileHeader* header_ = nullptr;
  std::span<const RowEntry> rows_;
  std::span<const GroupEntry> groups_;
  std::span<const ProcessEntry> processes_;
  std::span<const ThreadEntry> threads_;
  std::span<const HookEntry> hooks_;
  std::span<const LossEntry> losses_;
  std::span<const StripColumn> overview_;
  std::span<const MissingSpan> missing_;
  std::span<const CountRule> count_rules_;
  std::span<const InferredStep> inferred_switches_;
  std::span<const InferredCall> inferred_calls_;
  std::span<const PathEntry> paths_;
  std::string_view strings_, facts_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_TIMELINE_INDEX_H_
