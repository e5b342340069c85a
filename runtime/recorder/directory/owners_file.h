// Writes `.owners` of a recording: the names of the users and cgroups in its
// `owner` records, each once. Names of users that are not in /etc/passwd may
// come from a network: they are looked up at the end, when no ring fills.
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_OWNERS_FILE_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_OWNERS_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/posix/scoped_fd.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {

class OwnersFile {
 public:
  explicit OwnersFile(const std::string& directory)
      : path_(directory + "/" + logformat::kOwnersFile) {}

  // A name that cannot be looked up or written is missing in the trace.
  void Add(const logformat::OwnerRecord& owner);
  // Once, after the last record.
  void Finish();

 private:
  void Write(const std::string& line);

  std::string path_;
  base::ScopedFd file_;
  bool failed_ = false;
  absl::flat_hash_set<std::uint32_t> users_;
  std::vector<std::uint32_t> not_local_;
  absl::flat_hash_set<std::uint64_t> cgroups_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_OWNERS_FILE_H_
