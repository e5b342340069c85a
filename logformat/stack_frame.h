// A frame as the records of samples define it (FORMAT.md 4.8), for writers that
// define each one once.
#ifndef COUNTRACE_LOGFORMAT_STACK_FRAME_H_
#define COUNTRACE_LOGFORMAT_STACK_FRAME_H_

#include <cstdint>
#include <utility>

namespace countrace::logformat {

struct StackFrame {
  std::uint64_t parent, address;  // parent: a frame's number, 0: none
  std::uint32_t file;
  bool operator==(const StackFrame&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const StackFrame& frame) {
    return H::combine(std::move(h), frame.parent, frame.address, frame.file);
  }
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_STACK_FRAME_H_
