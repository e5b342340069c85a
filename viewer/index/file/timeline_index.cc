#include "viewer/index/file/timeline_index.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "viewer/index/file/checksum.h"
#include "viewer/index/file/forest.h"
#include "viewer/index/file/visit_count.h"

namespace countrace::viewer {
namespace {

// True if `count` elements of `size` bytes at `offset` lie inside `section` and
// are aligned.
bool Inside(const SectionEntry& section, std::uint64_t offset,
            std::uint64_t count, std::uint64_t size) {
  if (offset % 8 != 0 || offset < section.offset) return false;
  const std::uint64_t skip = offset - section.offset;
  if (skip > section.bytes) return false;
  return size == 0 || count <= (section.bytes - skip) / size;
}

constexpr std::uint64_t BlocksOf(std::uint64_t items, std::uint64_t block) {
  return items / block + (items % block != 0 ? 1 : 0);
}

template <typename T>
std::span<const T> Array(const std::byte* base, const SectionEntry& section) {
  return {reinterpret_cast<const T*>(base + section.offset),
          static_cast<std::size_t>(section.bytes / sizeof(T))};
}

// Extras of a row of intervals.
std::uint32_t ExtrasOf(RowKind kind, std::uint32_t events) {
  switch (kind) {
    case RowKind::kThreadRun:
    case RowKind::kIdleRun:
    case RowKind::kOutsideRun:
      return RunExtras(events);
    case RowKind::kThreadWait:
    case RowKind::kThreadBlocked:
    case RowKind::kInterruptTime:
    case RowKind::kLevel:
      return 0;
    default:
      return 1;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<TimelineIndex>> TimelineIndex::OpenBytes(
    std::span<const std::byte> bytes, const std::string& name) {
  std::unique_ptr<TimelineIndex> index(new TimelineIndex());
  absl::Status valid = index->Read(bytes, name, nullptr, bytes.size());
  if (!valid.ok()) return valid;
  return index;
}

absl::Status TimelineIndex::Read(std::span<const std::byte> bytes,
                                 const std::string& path,
                                 const Fingerprint* expected,
                                 std::uint64_t max_checked_bytes) {
  if (bytes.size() < sizeof(FileHeader)) {
    return absl::DataLossError(absl::StrFormat(
        "Timeline index is too short: path=%s, bytes=%d, header-bytes=%d", path,
        bytes.size(), sizeof(FileHeader)));
  }
  bytes_ = bytes.data();
  file_bytes_ = bytes.size();
  path_ = path;
  header_ = reinterpret_cast<const FileHeader*>(bytes_);
  absl::Status sound = CheckHeader(expected);
  if (sound.ok()) sound = CheckSections(max_checked_bytes);
  if (!sound.ok()) return sound;
  TakeSections();
  return CheckItems();
}

absl::Status TimelineIndex::Damaged(std::string_view what,
                                    std::uint64_t number) const {
  return absl::DataLossError(absl::StrFormat(
      "Timeline index is damaged: path=%s, %s=%d", path_, what, number));
}

absl::Status TimelineIndex::CheckHeader(const Fingerprint* expected) const {
  if (header_->magic != kIndexMagic) return Damaged("magic", header_->magic);
  if (header_->version != kIndexVersion ||
      header_->header_bytes != sizeof(FileHeader)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "Timeline index has another version: path=%s, version=%d, "
        "expected-version=%d",
        path_, header_->version, kIndexVersion));
  }
  if (header_->header_checksum !=
      ChecksumOf({bytes_, offsetof(FileHeader, header_checksum)})) {
    return Damaged("header-checksum", header_->header_checksum);
  }
  if (header_->file_bytes != file_bytes_) {
    return Damaged("file-bytes", file_bytes_);
  }
  if (expected != nullptr && header_->trace != *expected) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "Timeline index belongs to another state of the trace: path=%s, "
        "stream-bytes=%d, expected-stream-bytes=%d",
        path_, header_->trace.stream_bytes, expected->stream_bytes));
  }
  return absl::OkStatus();
}

absl::Status TimelineIndex::CheckSections(
    std::uint64_t max_checked_bytes) const {
  for (std::size_t i = 0; i < kSections; ++i) {
    const SectionEntry& section = header_->sections[i];
    if (section.offset % kSectionAlignBytes != 0 ||
        section.offset > file_bytes_ ||
        section.bytes > file_bytes_ - section.offset) {
      return Damaged("section", i);
    }
    const bool row_data = i == static_cast<std::size_t>(Section::kRowData);
    if (row_data && section.bytes > max_checked_bytes) continue;
    if (ChecksumOf({bytes_ + section.offset,
                    static_cast<std::size_t>(section.bytes)}) !=
        section.checksum) {
      return Damaged("section-checksum", i);
    }
  }
  return absl::OkStatus();
}

void TimelineIndex::TakeSections() {
  rows_ = Array<RowEntry>(bytes_, SectionOf(Section::kRows));
  groups_ = Array<GroupEntry>(bytes_, SectionOf(Section::kGroups));
  processes_ = Array<ProcessEntry>(bytes_, SectionOf(Section::kProcesses));
  threads_ = Array<ThreadEntry>(bytes_, SectionOf(Section::kThreads));
  hooks_ = Array<HookEntry>(bytes_, SectionOf(Section::kHooks));
  losses_ = Array<LossEntry>(bytes_, SectionOf(Section::kLosses));
  overview_ = Array<StripColumn>(bytes_, SectionOf(Section::kOverview));
  missing_ = Array<MissingSpan>(bytes_, SectionOf(Section::kMissing));
  count_rules_ = Array<CountRule>(bytes_, SectionOf(Section::kCountRules));
  inferred_switches_ =
      Array<InferredStep>(bytes_, SectionOf(Section::kInferredSwitches));
  inferred_calls_ =
      Array<InferredCall>(bytes_, SectionOf(Section::kInferredCalls));
  paths_ = Array<PathEntry>(bytes_, SectionOf(Section::kPaths));
  const SectionEntry& strings = SectionOf(Section::kStrings);
  const SectionEntry& facts = SectionOf(Section::kFacts);
  strings_ = {reinterpret_cast<const char*>(bytes_ + strings.offset),
              static_cast<std::size_t>(strings.bytes)};
  facts_ = {reinterpret_cast<const char*>(bytes_ + facts.offset),
            static_cast<std::size_t>(facts.bytes)};
}

absl::Status TimelineIndex::CheckItems() const {
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i].parent != kNoKey && paths_[i].parent >= i) {
      return Damaged("path", i);
    }
  }
  if (overview_.size() !=
          std::size_t{header_->overview_rows} * kOverviewColumns ||
      header_->events > 64) {
    return Damaged("overview-columns", overview_.size());
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!IsSound(rows_[i])) return Damaged("row", i);
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (!IsSound(groups_[i])) return Damaged("group", i);
  }
  return absl::OkStatus();
}

bool TimelineIndex::IsSound(const RowEntry& row) const {
  const SectionEntry& data = SectionOf(Section::kRowData);
  const std::uint64_t extra_bytes = 8 * std::uint64_t{row.extras};
  bool sound =
      row.extras <= 64 && row.kind <= kLastRowKind &&
      row.first_group <= groups_.size() &&
      row.groups <= groups_.size() - row.first_group &&
      Inside(data, row.leaf_offset, BlocksOf(row.leaves, kPackedBlock), 8);
  if (row.kind == RowKind::kCounter) {
    const std::uint64_t steps = row.leaves == 0 ? 0 : row.leaves - 1;
    sound = sound && row.extras == header_->events &&
            Inside(data, row.node_offset,
                   ForestNodes(BlocksOf(steps, kCounterBlock)) * row.extras,
                   sizeof(CounterNode));
  } else if (row.kind != RowKind::kHook && row.kind != RowKind::kFault) {
    const std::uint64_t blocks = BlocksOf(row.leaves, kIntervalBlock);
    const std::uint32_t wanted = ExtrasOf(row.kind, header_->events);
    sound = sound && row.extras == wanted && row.leaves < kNoKey &&
            Inside(data, row.node_offset, ForestNodes(blocks),
                   sizeof(IntervalNode)) &&
            Inside(data, row.prefix_offset, blocks + 1, 8 + extra_bytes);
  }
  return sound;
}

bool TimelineIndex::IsSound(const GroupEntry& group) const {
  const SectionEntry& data = SectionOf(Section::kRowData);
  const bool has_path =
      rows_.size() > group.row && rows_[group.row].kind == RowKind::kSegment;
  return group.row < rows_.size() &&
         (!has_path || group.path < paths_.size()) &&
         group.count <= rows_[group.row].leaves &&
         Inside(data, group.posting_offset, BlocksOf(group.count, kPackedBlock),
                8) &&
         Inside(data, group.prefix_offset, BlocksOf(group.count, kGroupBlock),
                sizeof(GroupSum));
}

bool TimelineIndex::HasAll(std::uint64_t begin_ns, std::uint64_t end_ns) const {
  const auto found = std::partition_point(missing_.begin(), missing_.end(),
                                          [&](const MissingSpan& span) {
                                            ++VisitCount();
                                            return span.end_ns < begin_ns;
                                          });
  return found == missing_.end() || found->begin_ns > end_ns;
}

std::string_view TimelineIndex::Text(NameRef name) const {
  if (name.offset > strings_.size() ||
      name.bytes > strings_.size() - name.offset) {
    return "?";
  }
  return strings_.substr(name.offset, name.bytes);
}

std::uint32_t TimelineIndex::ProcessOf(std::uint32_t thread) const {
  return thread < threads_.size() ? threads_[thread].process : kNoKey;
}

}  // namespace countrace::viewer
