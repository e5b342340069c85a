#include "logformat/data_areas.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/code_ranges.h"
#include "logformat/sample_points.h"

namespace countrace::logformat {
namespace {

// A stack grows by faults below it: as far below its pointer as compilers go
// without moving it, and in all as far as its usual limit.
constexpr std::uint64_t kBelowPointer = 64 << 10, kStackLimit = 8 << 20;
// Behind a program: how far away at random its heap begins (arm64, the most).
constexpr std::uint64_t kHeapDistance = 1 << 30;

}  // namespace

DataAreas::DataAreas(Look look, Parts parts)
    : look_(std::move(look)),
      parts_(std::move(parts)),
      sources_(1),
      areas_(1),
      kernel_(AreaOf({.path = kKernelCode})),
      unknown_(AreaOf({.path = kUnknownCode})) {}

std::uint32_t DataAreas::AreaOf(DataArea area) {
  const auto [found, added] = area_numbers_.try_emplace(
      absl::StrFormat("%d %x %x %x %s\n%s", area.thread, area.start, area.bytes,
                      area.offset, area.build_id, area.path),
      static_cast<std::uint32_t>(areas_.size()));
  if (added) areas_.push_back(std::move(area));
  return found->second;
}

std::uint32_t DataAreas::SourceOf(const DataMapping& mapping) {
  const auto [found, added] = source_numbers_.try_emplace(
      absl::StrFormat("%s\n%s", mapping.build_id, mapping.path),
      static_cast<std::uint32_t>(sources_.size()));
  if (!added) return found->second;
  const std::string& path = mapping.path;
  Source source{path, mapping.build_id, Kind::kNamed};
  if (path.empty() || path == "//anon") {
    source.kind = Kind::kAnonymous;
    source.path = kAnonymousMemory;
  } else if (path == kHeapMemory) {
    source.kind = Kind::kHeap;
  } else if (path == kStackMemory) {
    source.kind = Kind::kStack;
  } else if (path.front() == '/' && !IsJitMapping(path)) {
    source.kind = Kind::kFile;
  }
  sources_.push_back(std::move(source));
  return found->second;
}

// Makes room: a range around it becomes two.
void DataAreas::Cut(std::uint64_t start, std::uint64_t end, Ranges& ranges) {
  auto at = ranges.upper_bound(start);
  if (at != ranges.begin() && std::prev(at)->second.end > start) --at;
  while (at != ranges.end() && at->first < end) {
    const std::uint64_t old_start = at->first;
    Range old = at->second;
    old.area = old.zeros_area = 0;  // what is left of it is another area
    at = ranges.erase(at);
    if (old_start < start) {
      Range& below = ranges[old_start] = old;
      below.end = start;
      below.zeros_end = std::min(below.zeros_end, start);
    }
    if (old.end > end) {
      old.offset += end - old_start;
      old.zeros_offset += end - old_start;
      if (old.zeros_end <= end) old.zeros_of = 0;
      ranges[end] = old;
      break;
    }
  }
}

void DataAreas::Add(const DataMapping& mapping, Space& space) {
  const std::uint64_t start = mapping.start, end = start + mapping.bytes;
  if (end <= start) return;
  const std::uint32_t number = SourceOf(mapping);
  const bool of_file = sources_[number].kind == Kind::kFile;
  if (of_file && space.program == 0) space.program = number;
  Range range{
      .end = end, .offset = of_file ? mapping.offset : start, .source = number};
  // A loader maps all of a file, with room for its zeros, then the parts over
  // it, then memory over the rest, behind the last part.
  const auto before = RangeOf(space, start);
  const auto part = start == 0 ? space.ranges.end() : RangeOf(space, start - 1);
  if (sources_[number].kind == Kind::kAnonymous &&
      before != space.ranges.end() && before->second.end == end &&
      part != space.ranges.end() &&
      part->second.source == before->second.source &&
      sources_[part->second.source].kind == Kind::kFile) {
    range.zeros_known = true;
    range.zeros_of = part->second.source;
    range.zeros_end = end;
    range.zeros_offset = part->second.offset + (start - part->first);
  }
  Cut(start, end, space.ranges);
  space.ranges[start] = range;
}

DataAreas::Space& DataAreas::Known(std::int32_t pid) {
  std::shared_ptr<Space>& space = spaces_[pid];
  if (space == nullptr) {
    space = std::make_shared<Space>();
    if (look_ != nullptr) {
      for (const DataMapping& mapping : look_(pid)) Add(mapping, *space);
    }
  }
  return *space;
}

DataAreas::Space& DataAreas::Own(std::int32_t pid) {
  Known(pid);
  std::shared_ptr<Space>& space = spaces_[pid];
  if (space.use_count() > 1) space = std::make_shared<Space>(*space);
  return *space;
}

void DataAreas::Map(std::int32_t pid, const DataMapping& mapping) {
  if (mapping.start + mapping.bytes > mapping.start) Add(mapping, Own(pid));
}

void DataAreas::NewProgram(std::int32_t pid) {
  spaces_[pid] = std::make_shared<Space>();
}

void DataAreas::Fork(std::int32_t parent_pid, std::int32_t pid) {
  Known(parent_pid);
  // A copy: a new entry may move the old ones.
  std::shared_ptr<Space> shared = spaces_[parent_pid];
  spaces_[pid] = std::move(shared);
}

DataAreas::Ranges::iterator DataAreas::RangeOf(Space& space,
                                               std::uint64_t address) {
  auto at = space.ranges.upper_bound(address);
  if (at == space.ranges.begin()) return space.ranges.end();
  --at;
  return address < at->second.end ? at : space.ranges.end();
}

DataAreas::Ranges::iterator DataAreas::GrowingStack(
    Space& space, const DataAddress& wanted) const {
  const auto above = space.ranges.upper_bound(wanted.address);
  if (above == space.ranges.end() ||
      sources_[above->second.source].kind != Kind::kStack ||
      above->first - wanted.address > kStackLimit) {
    return space.ranges.end();
  }
  const std::uint64_t pointer = wanted.stack_pointer;
  const bool in_use =
      pointer == 0 || (pointer < above->second.end &&
                       wanted.address + kBelowPointer >= pointer);
  return in_use ? above : space.ranges.end();
}

// The zeros of a program's data have no place in its file, so their mapping is
// of memory, next to that of the file.
void DataAreas::FindZeros(std::int32_t pid, Space& space, Ranges::iterator at) {
  Range& range = at->second;
  if (range.zeros_known) return;
  range.zeros_known = true;
  const Kind kind = sources_[range.source].kind;
  if ((kind != Kind::kAnonymous && kind != Kind::kHeap) ||
      at == space.ranges.begin() || parts_ == nullptr) {
    return;
  }
  const auto& [below_start, below] = *std::prev(at);
  const Source& source = sources_[below.source];
  if (below.end != at->first || source.kind != Kind::kFile) return;
  const auto [image, added] = images_.try_emplace(below.source);
  if (added) image->second = parts_(pid, source.path);
  const std::uint64_t offset = below.offset + (at->first - below_start);
  const std::uint64_t end = ImageEnd(image->second, offset);
  if (end <= offset) return;
  range.zeros_end = std::min(at->first + (end - offset), range.end);
  range.zeros_of = below.source;
  range.zeros_offset = offset;
}

// The kernel names a heap from the second time on that it grows. It is the
// first memory behind the program and its zeros.
bool DataAreas::IsHeap(std::int32_t pid, Space& space, Ranges::iterator at) {
  if (space.program == 0) return false;
  // Without a gap it is behind the zeros in one mapping.
  if (at->second.zeros_of == space.program) return true;
  if (at == space.ranges.begin()) return false;
  const auto below = std::prev(at);
  if (at->first - below->second.end > kHeapDistance) return false;
  FindZeros(pid, space, below);
  return below->second.source == space.program ||
         below->second.zeros_of == space.program;
}

std::uint32_t DataAreas::AreaAt(const DataAddress& wanted, Space& space,
                                Ranges::iterator at) {
  FindZeros(wanted.pid, space, at);
  Range& range = at->second;
  if (range.zeros_of != 0 && wanted.address < range.zeros_end) {
    if (range.zeros_area == 0) {
      const Source& file = sources_[range.zeros_of];
      range.zeros_area =
          AreaOf({file.path, file.build_id, at->first,
                  range.zeros_end - at->first, range.zeros_offset, 0});
    }
    return range.zeros_area;
  }
  if (range.area != 0) return range.area;
  const Source& source = sources_[range.source];
  DataArea area{source.path,           source.build_id, at->first,
                range.end - at->first, range.offset,    0};
  if (source.kind == Kind::kAnonymous) {
    if (range.stack_of != 0) {
      area.path = kStackMemory;
      area.thread = range.stack_of;
    } else if (IsHeap(wanted.pid, space, at)) {
      area.path = kHeapMemory;
    }
  }
  return range.area = AreaOf(std::move(area));
}

std::uint32_t DataAreas::Find(const DataAddress& wanted) {
  if (wanted.address == 0) return 0;
  if (wanted.address >> 63 != 0) return kernel_;
  Space* space = &Known(wanted.pid);
  if (wanted.stack_pointer != 0) {
    const auto stack = RangeOf(*space, wanted.stack_pointer);
    if (stack != space->ranges.end() &&
        sources_[stack->second.source].kind == Kind::kAnonymous &&
        stack->second.stack_of != wanted.tid &&
        !IsHeap(wanted.pid, *space, stack)) {
      // A forked process shares what is known, but not its threads.
      space = &Own(wanted.pid);
      Range& own = RangeOf(*space, wanted.stack_pointer)->second;
      own.stack_of = wanted.tid;
      own.area = 0;
    }
  }
  auto at = RangeOf(*space, wanted.address);
  if (at == space->ranges.end()) at = GrowingStack(*space, wanted);
  if (at == space->ranges.end() && look_ != nullptr &&
      ++space->misses == space->next_look) {
    // A mapping that was moved has no record.
    const std::vector<DataMapping> mappings = look_(wanted.pid);
    space = &Own(wanted.pid);
    if (!mappings.empty()) space->ranges.clear();
    for (const DataMapping& mapping : mappings) Add(mapping, *space);
    at = RangeOf(*space, wanted.address);
    space->next_look =
        at == space->ranges.end() ? space->misses * 2 : space->misses + 1;
  }
  return at == space->ranges.end() ? unknown_ : AreaAt(wanted, *space, at);
}

}  // namespace countrace::logformat
