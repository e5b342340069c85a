// Which file each executable address of a process is mapped from. Recorder and
// import of samples keep one for each process.
#ifndef COUNTRACE_LOGFORMAT_CODE_RANGES_H_
#define COUNTRACE_LOGFORMAT_CODE_RANGES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace countrace::logformat {

// Executable memory that no file describes: what a compiler at run time made.
// `path` as the kernel shows it.
bool IsJitMapping(std::string_view path);

// Thread: one.
class CodeRanges {
 public:
  struct Place {
    std::uint32_t file = 0;
    std::uint64_t address = 0;  // in the file
  };
  // Maps [start, end) from `offset` of `file`. What it covers is gone; a range
  // around it becomes two. Requires: start < end.
  void Map(std::uint64_t start, std::uint64_t end, std::uint64_t offset,
           std::uint32_t file);
  std::optional<Place> Find(std::uint64_t address) const;

 private:
  struct Range {
    std::uint64_t end = 0, offset = 0;
    std::uint32_t file = 0;
  };
  std::map<std::uint64_t, Range> ranges_;  // by start; no two overlap
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_CODE_RANGES_H_
