// An index that is a mapped file.
#include <utility>

#include "base/posix/file_mapping.h"
#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {
namespace {

class MappedIndex final : public TimelineIndex {
 public:
  explicit MappedIndex(base::FileMapping file) : file_(std::move(file)) {}
  absl::Status Validate(const std::string& path, const Fingerprint* expected,
                        std::uint64_t max_checked_bytes) {
    return Read(file_.bytes(), path, expected, max_checked_bytes);
  }
  absl::Status CheckWhole() const override { return file_.CheckWhole(); }

 private:
  const base::FileMapping file_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TimelineIndex>> TimelineIndex::Open(
    const std::string& path, const Fingerprint* expected,
    std::uint64_t max_checked_bytes) {
  absl::StatusOr<base::FileMapping> file = base::FileMapping::Open(path);
  if (!file.ok()) return file.status();
  auto index = std::make_unique<MappedIndex>(*std::move(file));
  absl::Status valid = index->Validate(path, expected, max_checked_bytes);
  if (!valid.ok()) return valid;
  return index;
}

}  // namespace countrace::viewer
