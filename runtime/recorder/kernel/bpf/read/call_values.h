// The values of system calls, from a ring's form (kernel_ring.h) into that of
// the trace (FORMAT.md 4.4): numbers by their types, texts, and the names of
// files in place of their numbers in the ring.
//
// Thread: that of its ring's reader.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_CALL_VALUES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_CALL_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/recorder/kernel/hooks/syscall_arguments.h"

namespace countrace::runtime {

class CallValues {
 public:
  // `calls`: ReadSyscallArguments(); must outlive this. Null: no call has
  // values.
  explicit CallValues(const std::vector<SyscallArguments>* calls)
      : calls_(calls) {}

  // Takes an entry that names a file: all of it, with its header word.
  void Define(std::span<const std::byte> entry);

  // The values of a record of call `number` as the trace has them. `values`:
  // the value part of its record. Valid until the next call.
  std::string_view Convert(std::uint32_t number, bool exit,
                           std::span<const std::byte> values);

  // Bytes of a value part or of a file's entry, from their first word.
  static std::size_t ValueBytes(std::uint64_t word) { return word & 0xffff; }
  static std::size_t FileBytes(std::uint64_t word);

  // Texts that were unreadable at the exit, too, and those that were cut.
  std::uint64_t unreadable() const { return unreadable_; }
  std::uint64_t cut() const { return cut_; }

 private:
  void AddText(std::string_view text);
  void AddFile(std::uint64_t number_and_1);
  void AddNumber(const SyscallArgument& argument, std::uint64_t word);

  const std::vector<SyscallArguments>* calls_;
  std::vector<std::string> files_;  // by number
  std::string out_;
  std::uint64_t unreadable_ = 0, cut_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_CALL_VALUES_H_
