// Who called the user code that was sampled, by DWARF: from a thread's
// registers, a copy of the top of its stack, and the rules of frames
// (.eh_frame) in the files that its code is mapped from.
//
// In: samples in time order, with the mappings of their time. Out: frames.
// Code without rules (made at run time) is followed by frame pointers. Thread:
// one.
#ifndef COUNTRACE_BASE_CODE_STACK_UNWINDER_H_
#define COUNTRACE_BASE_CODE_STACK_UNWINDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/code/code_map.h"
#include "base/code/unwind_files.h"

namespace countrace::base {

struct StackCopy {
  std::span<const std::uint64_t> registers;  // as in user_registers.h
  std::span<const std::byte> bytes;          // from the stack pointer up
  bool is_cut = false;  // all the bytes that were asked for: it may go on
};

struct UnwoundStack {
  enum class End : std::uint8_t {
    kWhole,
    kTruncated,   // it goes on behind the copied bytes
    kNotUnwound,  // no rules lead from the last frame to the one that called it
  };
  // Innermost first; of a frame that called another one the last byte of the
  // call.
  std::vector<CodePlace> frames;
  End end = End::kWhole;
};

class StackUnwinder {
 public:
  static constexpr std::size_t kMostFrames = 1024;

  // `map` must outlive this.
  explicit StackUnwinder(CodeMap& map);
  ~StackUnwinder();
  StackUnwinder(const StackUnwinder&) = delete;
  StackUnwinder& operator=(const StackUnwinder&) = delete;

  // Requires: registers. The result is valid until the next call.
  const UnwoundStack& Unwind(std::int32_t pid, const StackCopy& copy);

  // The process ended or has a new program; or something is mapped there now.
  void Forget(std::int32_t pid);
  void Forget(std::int32_t pid, std::uint64_t begin, std::uint64_t end);

 private:
  struct Process;
  struct Callbacks;
  Process* Find(std::int32_t pid);

  CodeMap& map_;
  UnwindFiles files_;
  UnwindFile own_;  // says which processor's frames these are
  absl::flat_hash_map<std::int32_t, std::unique_ptr<Process>> processes_;
  UnwoundStack result_;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_STACK_UNWINDER_H_
