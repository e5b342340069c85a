// Which version of a file was mapped, where the kernel does not show its build
// id (base/code/elf_identity.h): looked up by the FileThread.
//
// In: mappings. Out: at once a stand-in for each file, "?7", and later what it
// stands for. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_FILE_IDENTITIES_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_FILE_IDENTITIES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/recorder/samples/file_thread.h"

namespace countrace::runtime {

// Which file a path meant when it was mapped, as the kernel has it.
struct MappedInode {
  std::string device;        // and what else differs of files of one number
  std::uint64_t number = 0;  // 0: not known
};

inline bool IsIdentityStandIn(std::string_view build_id) {
  return build_id.starts_with('?');
}

class FileIdentities {
 public:
  // `thread` must outlive this.
  explicit FileIdentities(FileThread& thread);

  // The stand-in of the file, the same one for each of its mappings; empty: too
  // many files of the process wait. `path` as the kernel shows it.
  std::string Find(std::int32_t pid, const std::string& path,
                   const MappedInode& inode);
  struct Known {
    std::string file, stand_in;
    std::string identity;  // empty: the file could not be read
  };
  // Those of which it became known what they stand for.
  std::vector<Known> TakeKnown();
  // How often Find() returned nothing.
  std::size_t refused() const { return refused_; }

 private:
  struct Results;

  FileThread& thread_;
  const std::shared_ptr<Results> results_;
  // By path and inode: containers have other files of one path.
  absl::flat_hash_map<std::string, std::string> stand_ins_;
  std::size_t last_ = 0, refused_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_FILE_IDENTITIES_H_
