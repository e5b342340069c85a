// What memory the data addresses of samples lie in: of each process its
// mappings, at the current point of a recording or of a perf.data file.
//
// In: mappings, new programs, forks and ends, in time order. Out: areas, each
// one mapping as it was at a sample (SamplePoint::kArea). Memory grows with
// processes and with areas that had samples. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_DATA_AREAS_H_
#define COUNTRACE_LOGFORMAT_DATA_AREAS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "logformat/image_parts.h"

namespace countrace::logformat {

struct DataMapping {
  std::uint64_t start = 0, bytes = 0, offset = 0;
  std::string path;      // as the kernel shows it
  std::string build_id;  // hexadecimal; empty: not known
};

struct DataArea {
  std::string path = {};      // or one of sample_points.h
  std::string build_id = {};  // hexadecimal; empty: not known
  std::uint64_t start = 0, bytes = 0;
  // Of `start` in the file; `start` itself of memory that is no file's.
  std::uint64_t offset = 0;
  std::int32_t thread = 0;  // kStackMemory; 0: of the process's first thread
};

struct DataAddress {
  std::int32_t pid = 0, tid = 0;
  std::uint64_t address = 0;
  std::uint64_t stack_pointer = 0;  // of the thread; 0: not known
};

class DataAreas {
 public:
  // The mappings of a process as they are now; empty: not known. May be null.
  using Look = std::function<std::vector<DataMapping>(std::int32_t pid)>;
  // The loaded parts of a file of a process; empty: they are not known. May be
  // null: .bss is then that of mappings that were seen from the program's begin
  // on.
  using Parts = std::function<std::vector<ImagePart>(std::int32_t pid,
                                                     const std::string& path)>;
  DataAreas(Look look, Parts parts);

  void Map(std::int32_t pid, const DataMapping& mapping);
  void NewProgram(std::int32_t pid);
  void Fork(std::int32_t parent_pid, std::int32_t pid);
  void End(std::int32_t pid) { spaces_.erase(pid); }
  // Looks now: the process may have ended when an address is found.
  void ReadMappings(std::int32_t pid) { Known(pid); }

  // The number of the area; 0: there is no address.
  std::uint32_t Find(const DataAddress& wanted);
  const DataArea& operator[](std::uint32_t number) const {
    return areas_[number];
  }

 private:
  enum class Kind : std::uint8_t { kFile, kNamed, kAnonymous, kHeap, kStack };
  struct Source {
    std::string path, build_id;
    Kind kind = Kind::kFile;
  };
  struct Range {
    std::uint64_t end = 0, offset = 0;
    std::uint32_t source = 0;
    std::int32_t stack_of = 0;  // the thread whose stack lies here
    std::uint32_t area = 0;     // its number; 0: none yet
    // The zeros of a file (.bss) that lie at its begin.
    bool zeros_known = false;        // the others are
    std::uint32_t zeros_of = 0;      // the file's source; 0: there are none
    std::uint64_t zeros_end = 0;     // address
    std::uint64_t zeros_offset = 0;  // of the range's begin in the file
    std::uint32_t zeros_area = 0;    // its number; 0: none yet
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by start; no two overlap
  struct Space {
    Ranges ranges;
    std::uint32_t program = 0;  // source of its file; 0: not known
    // Addresses that no mapping has: looking again pays seldom.
    std::uint64_t misses = 0, next_look = 1;
  };

  Space& Known(std::int32_t pid);
  Space& Own(std::int32_t pid);
  void Add(const DataMapping& mapping, Space& space);
  void Cut(std::uint64_t start, std::uint64_t end, Ranges& ranges);
  std::uint32_t SourceOf(const DataMapping& mapping);
  std::uint32_t AreaOf(DataArea area);
  // In it, or just below a stack that grows; end(): neither.
  static Ranges::iterator RangeOf(Space& space, std::uint64_t address);
  Ranges::iterator GrowingStack(Space& space, const DataAddress& wanted) const;
  void FindZeros(std::int32_t pid, Space& space, Ranges::iterator at);
  bool IsHeap(std::int32_t pid, Space& space, Ranges::iterator at);
  std::uint32_t AreaAt(const DataAddress& wanted, Space& space,
                       Ranges::iterator at);

  const Look look_;
  const Parts parts_;
  std::vector<Source> sources_;  // [0]: none
  std::unordered_map<std::string, std::uint32_t> source_numbers_;
  std::vector<DataArea> areas_;  // [0]: no address
  std::unordered_map<std::string, std::uint32_t> area_numbers_;
  // By source.
  std::unordered_map<std::uint32_t, std::vector<ImagePart>> images_;
  std::uint32_t kernel_ = 0, unknown_ = 0;
  // A forked process shares its parent's until one of them changes.
  std::unordered_map<std::int32_t, std::shared_ptr<Space>> spaces_;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DATA_AREAS_H_
