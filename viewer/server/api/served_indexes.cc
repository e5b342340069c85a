#include "viewer/server/api/served_indexes.h"

#include <algorithm>
#include <utility>

#include "viewer/server/api/index_api.h"

namespace countrace::viewer {

namespace {

constexpr std::chrono::minutes kUnusedTime{2};

}  // namespace

void ServedIndexes::Publish(std::shared_ptr<const TimelineIndex> index,
                            std::shared_ptr<const RecordedBytes> recorded) {
  const std::lock_guard lock(mutex_);
  if (recorded != nullptr) recorded_ = std::move(recorded);
  live_ = false;
  indexes_.push_back({std::move(index), Clock::now()});
}

void ServedIndexes::PublishLive(std::shared_ptr<const TimelineIndex> index,
                                Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(indexes_, [now](const Served& served) {
    return now - served.used > kUnusedTime;
  });
  live_ = true;
  live_at_ = now;
  indexes_.push_back({std::move(index), now});
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
  return {indexes_.empty() ? nullptr : indexes_.back().index,
          recorded_,
          live_,
          live_at_,
          progress_,
          failure_};
}

std::shared_ptr<const TimelineIndex> ServedIndexes::Find(
    std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto named = [id](const Served& served) {
    return id.empty() ? served.index->is_whole() : IdOf(*served.index) == id;
  };
  const auto found = std::find_if(indexes_.rbegin(), indexes_.rend(), named);
  if (found == indexes_.rend()) return nullptr;
  found->used = Clock::now();
  return found->index;
}

}  // namespace countrace::viewer
