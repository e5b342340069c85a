// The directory of a recording: created, locked, and removed if nothing was
// recorded.
//
// States of a directory, shown by its hidden file `.incomplete`:
//
//   absent --Create()--> present and locked --FinishTrace()--> absent
//                              |
//                              +--(recorder died)--> present, unlocked
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_TRACE_DIRECTORY_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_TRACE_DIRECTORY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {

class TraceDirectory {
 public:
  // Creates `path` (0700) with a locked `.incomplete`, an empty `.hooks` and
  // the session of a recording that has not begun. The folder gets its name
  // when they are in it, so a kill leaves a trace that can be read, or the old
  // one, or none; and rarely a folder `path`.new-PID, which the next call with
  // this path removes.
  // With `force` an existing directory is emptied first, but only if it is
  // empty or a trace of ours that is not being recorded. Returns:
  // ALREADY_EXISTS, FAILED_PRECONDITION (exists and is no trace, or is being
  // recorded), NOT_FOUND (no parent), PERMISSION_DENIED, RESOURCE_EXHAUSTED.
  static absl::StatusOr<TraceDirectory> Create(const std::string& path,
                                               bool force);

  // Absolute, without symbolic links.
  const std::string& path() const { return path_; }
  // For files that this process opens later: the same under every name.
  std::string steady_path() const;
  // Whether it has another name than path(), which is then the new one.
  bool FollowRename();
  // Bytes on disk of all stream files.
  std::uint64_t DiskBytes() const;
  // Removes the directory, because nothing was recorded, unless it holds what
  // is no part of a trace.
  void Remove();

 private:
  // In an empty directory.
  static absl::StatusOr<TraceDirectory> Fill(const std::string& path);

  TraceDirectory(std::string path, base::ScopedFd lock)
      : path_(std::move(path)),
        directory_(OpenDirectory(path_)),
        lock_(std::move(lock)) {}
  static base::ScopedFd OpenDirectory(const std::string& path);
  std::string path_;
  base::ScopedFd directory_;  // path only: it stays the same under every name
  base::ScopedFd lock_;  // of `.incomplete`; the kernel unlocks it if we die
};

// The mode of the recording that a recorder makes at `path` right now; absent:
// there is none.
std::optional<logformat::SessionMode> ModeOfRecordingAt(
    const std::string& path);

// Removes a trace of ours that is not being recorded, or an empty directory.
// Returns: FAILED_PRECONDITION it is anything else, and unchanged.
absl::Status RemoveTrace(const std::string& path);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_TRACE_DIRECTORY_H_
