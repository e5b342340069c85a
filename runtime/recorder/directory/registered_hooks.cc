#include "runtime/recorder/directory/registered_hooks.h"

#include <sys/stat.h>

#include "logformat/description/session_files.h"
#include "logformat/event_schema.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {

using logformat::StreamClass;

absl::Status RegisteredHooks::Refresh() {
  // Sizes before the files are read: a later hook makes them grow again.
  std::array<std::int64_t, 2> bytes{};
  constexpr const char* kFiles[] = {logformat::kHooksFile,
                                    logformat::kKernelHooksFile};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    struct stat info {};
    const std::string path = trace_ + "/" + kFiles[i];
    bytes[i] = stat(path.c_str(), &info) == 0 ? info.st_size : 0;
  }
  if (tables_ && bytes == bytes_) return absl::OkStatus();
  auto description = logformat::ReadSessionFiles(trace_);
  if (!description.ok()) return description.status();
  const auto classes = logformat::EventClasses(description->info);
  tables_.emplace(
      Tables{logformat::RecordTable(classes, StreamClass::kCpu),
             logformat::RecordTable(classes, StreamClass::kThread)});
  info_ = std::move(description->info);
  bytes_ = bytes;
  ++generation_;
  return absl::OkStatus();
}

}  // namespace countrace::runtime
