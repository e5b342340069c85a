#include "viewer/server/served_indexes.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::viewer {

std::string IdOf(const TimelineIndex& index) {
  // It is of the checksums of all sections.
  return absl::StrFormat("%016x", index.header().header_checksum);
}

void ServedIndexes::Publish(std::shared_ptr<const TimelineIndex> index,
                            std::uint64_t trace_end_ns) {
  const std::lock_guard lock(mutex_);
  trace_end_ns_ = trace_end_ns;
  indexes_.push_back(std::move(index));
}

void ServedIndexes::SetProgress(const logformat::Progress& progress) {
  const std::lock_guard lock(mutex_);
  progress_ = progress;
}

void ServedIndexes::Fail(const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  failure_ = status;
}

ServedIndexes::Growth ServedIndexes::growth() const {
  const std::lock_guard lock(mutex_);
  return {indexes_.empty() ? nullptr : indexes_.back(), trace_end_ns_,
          progress_, failure_};
}

std::shared_ptr<const TimelineIndex> ServedIndexes::Find(
    std::string_view id) const {
  const std::lock_guard lock(mutex_);
  for (const auto& index : indexes_) {
    if (id.empty() ? index->is_whole() : IdOf(*index) == id) return index;
  }
  return nullptr;
}

}  // namespace countrace::viewer
