// Where the code of processes lies: an address to a file and a place in it.
#ifndef COUNTRACE_BASE_CODE_CODE_MAP_H_
#define COUNTRACE_BASE_CODE_CODE_MAP_H_

#include <cstdint>

namespace countrace::base {

struct CodePlace {
  std::uint32_t file = 0;     // a number of the map's
  std::uint64_t address = 0;  // in the file; absolute if that is none
  bool operator==(const CodePlace&) const = default;
};

class UnwindFile;

class CodeMap {
 public:
  virtual ~CodeMap() = default;
  virtual CodePlace Find(std::int32_t pid, std::uint64_t address) = 0;
  // The file of places of which no mapping is known.
  virtual std::uint32_t unknown() const = 0;
  // Makes `out` take the file as it was when it was mapped. False: there is
  // none, it is not readable at once, or it is another one.
  virtual bool Open(std::int32_t pid, std::uint32_t file, UnwindFile& out) = 0;
  // The same of any file of this processor: it says how its frames are read.
  virtual bool OpenOwn(UnwindFile& out) = 0;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_CODE_MAP_H_
