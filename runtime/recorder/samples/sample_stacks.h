// Stacks of samples: from what the kernel took of a thread to places of code.
//
// In: mappings, new programs, forks and ends, and samples, in time order. Out:
// frames. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_STACKS_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_STACKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/code/stack_unwinder.h"
#include "logformat/data_areas.h"
#include "runtime/recorder/samples/address_spaces.h"
#include "runtime/recorder/samples/jit_dump_files.h"
#include "runtime/recorder/samples/kernel_names.h"

namespace countrace::runtime {

enum class StackKind : std::uint8_t {
  kHit,  // where an event happened
  kOffCpu,
  kWaker,
};

class SampleStacks {
 public:
  // Both must outlive this.
  SampleStacks(CodeFiles& files, KernelNames& kernel_names);

  // A mapping of code.
  void Map(std::int32_t pid, const logformat::DataMapping& mapping);
  void ReadMappings(std::int32_t pid) { spaces_.ReadMappings(pid); }
  void NewProgram(std::int32_t pid);
  void Fork(std::int32_t parent_pid, std::int32_t pid) {
    spaces_.Fork(parent_pid, pid);
  }
  void End(std::int32_t pid);

  // The frames of process `pid`, innermost first, valid until the next call.
  // `words`: of a kSampleEntry. A stack off CPU or of a waker is without its
  // begin: the program that took it, and the kernel's own way there.
  const std::vector<CodePlace>& Find(const std::uint64_t* words,
                                     std::int32_t pid, StackKind kind);

  AddressSpaces& spaces() { return spaces_; }
  const JitDumps& jit_dumps() const { return spaces_.jit_dumps(); }
  // What stacks lack, for the user. `stack_bytes`: that were copied of each.
  void Describe(std::uint32_t stack_bytes,
                std::vector<std::string>& messages) const;

 private:
  void FindFrames(const std::uint64_t* words, std::int32_t pid);
  void CutBegin(bool of_waker);

  KernelNames& kernel_names_;
  AddressSpaces spaces_;
  base::StackUnwinder unwinder_;
  std::uint32_t kernel_file_, truncated_file_, not_unwound_file_;
  std::uint64_t unwound_ = 0, truncated_ = 0, not_unwound_ = 0;  // stacks
  std::vector<CodePlace> stack_;  // of the last Find()
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_STACKS_H_
