// Which file each descriptor of a process is, as far as records tell. What is
// not known is absent: a file that was open before the recording, or came by a
// socket, or whose records were lost.
//
// In: descriptors that were opened, copied and closed; forks and execs. Thread:
// one.
#ifndef COUNTRACE_RMAP_VALUES_OPEN_FILES_H_
#define COUNTRACE_RMAP_VALUES_OPEN_FILES_H_

#include <cstdint>
#include <map>
#include <unordered_map>

namespace countrace::rmap {

class OpenFiles {
 public:
  // The number of the file (ValueTable); 0: not known.
  std::uint32_t Of(std::int32_t pid, std::int64_t fd) const {
    const auto files = of_.find(pid);
    if (files == of_.end()) return 0;
    const auto file = files->second.find(fd);
    return file == files->second.end() ? 0 : file->second.value;
  }
  // `stays`: an exec does not close it, for certain.
  void Open(std::int32_t pid, std::int64_t fd, std::uint32_t value,
            bool stays) {
    of_[pid][fd] = {value, stays};
  }
  // The descriptors from `first` to `last`.
  void Close(std::int32_t pid, std::int64_t first, std::int64_t last) {
    const auto files = of_.find(pid);
    if (files == of_.end() || first > last) return;
    files->second.erase(files->second.lower_bound(first),
                        files->second.upper_bound(last));
  }
  // The child may have opened files before the record of its fork.
  void Fork(std::int32_t parent_pid, std::int32_t pid) {
    if (parent_pid == pid) return;
    const auto files = of_.find(parent_pid);
    if (files == of_.end()) return;
    const Files inherited = files->second;
    of_[pid].insert(inherited.begin(), inherited.end());
  }
  void Exec(std::int32_t pid) {
    const auto files = of_.find(pid);
    if (files == of_.end()) return;
    std::erase_if(files->second,
                  [](const auto& file) { return !file.second.stays; });
  }
  void Exit(std::int32_t pid) { of_.erase(pid); }
  // Records were lost: any descriptor may be another file now.
  void Forget() { of_.clear(); }

 private:
  struct File {
    std::uint32_t value;
    bool stays;
  };
  using Files = std::map<std::int64_t, File>;  // by descriptor

  std::unordered_map<std::int32_t, Files> of_;  // by pid
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_VALUES_OPEN_FILES_H_
