// The files that user code is mapped from, open for their rules of frames
// (.eh_frame).
//
// In: numbers of a CodeMap. Out: ELF files, read and not mapped: another
// program may cut them at any time. Thread: one.
#ifndef COUNTRACE_BASE_CODE_UNWIND_FILES_H_
#define COUNTRACE_BASE_CODE_UNWIND_FILES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/code/code_map.h"
#include "base/code/elf_file.h"
#include "base/posix/scoped_fd.h"

namespace countrace::base {

// A file without a build id has this one.
inline constexpr char kNoBuildId[] = "-";

class UnwindFile {
 public:
  // False: it is no ELF file with this build id, or not readable at once; then
  // nothing is taken. `build_id`: hexadecimal, a version (file_version.h),
  // kNoBuildId, or empty for any.
  // Requires: nothing is taken yet.
  bool Take(const std::string& path, const std::string& build_id);
  bool Take(ScopedFd fd, const std::string& build_id);
  // That of this processor and kernel, under the same conditions.
  bool TakeVdso(const std::string& build_id);

  Elf* elf() const { return elf_.get(); }
  // The address at which the file's own terms say that this offset lies.
  std::optional<std::uint64_t> AddressOf(std::uint64_t offset) const;
  // From the first loaded part's page to the last one's end, in these terms.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  // Where a program begins in it.
  std::uint64_t entry() const { return entry_; }

 private:
  bool TakeElf(ElfHandle elf);

  struct Part {
    std::uint64_t offset, bytes, address;
  };
  ScopedFd fd_;
  std::string image_;  // of the vdso
  ElfHandle elf_;
  std::vector<Part> parts_;
  std::uint64_t begin_ = 0, end_ = 0, entry_ = 0;
};

class UnwindFiles {
 public:
  explicit UnwindFiles(CodeMap& map) : map_(map) {}

  // Null: no file, not readable at once, or not the one that was mapped. Valid
  // until Clear().
  const UnwindFile* Find(std::int32_t pid, std::uint32_t number);
  std::size_t size() const { return open_.size(); }
  void Clear() { open_.clear(); }

 private:
  CodeMap& map_;
  absl::flat_hash_map<std::uint32_t, std::unique_ptr<UnwindFile>> open_;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_UNWIND_FILES_H_
